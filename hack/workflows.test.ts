import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  readonly 'timeout-minutes': number;
}

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const runs = ({ steps }: Job, command: RegExp): boolean => steps.some(({ run = '' }) => command.test(run));

const root = new URL('../', import.meta.url);
const directory = new URL('.github/workflows/', root);
const makefile = readFileSync(new URL('Makefile', root), 'utf8');

for (const name of readdirSync(directory)) {
  describe(`the workflow ${name}`, () => {
    const text = readFileSync(new URL(name, directory), 'utf8');
    const workflow = parse(text) as Workflow;
    const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

    it('calls targets that the Makefile has', () => {
      const targets = [...text.matchAll(/\bmake ([a-z0-9-]+)/g)].map(([, target = '']) => target);
      for (const target of targets) expect(makefile, target).to.contain(`\n.PHONY: ${target}\n`);
    });

    it('sets a timeout for each job, and grants explicit permissions', () => {
      for (const [job, { 'timeout-minutes': minutes }] of Object.entries(workflow.jobs))
        expect(minutes, job).to.be.greaterThan(0);
      expect(workflow.permissions).to.be.an('object');
    });

    it('runs no code from dependencies in a job with write permissions', () => {
      for (const [id, job] of Object.entries(workflow.jobs))
        if (Object.values(job.permissions ?? {}).includes('write'))
          expect(runs(job, /\b(make|npm|npx|node|go)\b|\.ci\//), id).to.equal(false);
    });

    it('pins each action to a commit hash', () => {
      for (const { uses } of steps) if (uses !== undefined) expect(uses).to.match(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
    });

    // GitHub's runners use Ubuntu, whose apt is not configured for Debian's archive. So a job that builds the image
    // must set DEBIAN_ARCHIVE.
    it('passes the Debian archive to each job that builds the image', () => {
      for (const [id, job] of Object.entries(workflow.jobs))
        if (runs(job, /make (release|image|test-image)/))
          expect(job.env?.['DEBIAN_ARCHIVE'], id).to.equal('${{ vars.DEBIAN_ARCHIVE }}');
    });

    it('publishes no release without its section in the changelog', () => {
      const releases = steps.flatMap(({ run = '' }) => (run.includes('make release') ? [run] : []));
      expect(releases).to.have.length(name === 'release.yaml' ? 1 : 0);
      for (const command of releases) expect(command).to.match(/ RELEASE_FLAGS=--published$/);
    });

    it('puts no text from a pull request or tag into a command', () => {
      for (const { run = '' } of steps) expect(run).to.not.match(/\$\{\{\s*(github|inputs)\./);
    });
  });
}
