import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[]; readonly 'timeout-minutes': number }>>;
}

const root = new URL('../', import.meta.url);
const directory = new URL('.github/workflows/', root);
const makefile = readFileSync(new URL('Makefile', root), 'utf8');

for (const name of readdirSync(directory)) {
  describe(`the workflow ${name}`, () => {
    const text = readFileSync(new URL(name, directory), 'utf8');
    const workflow = parse(text) as Workflow;
    const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

    it('calls targets that the Makefile has', () => {
      const targets = [...text.matchAll(/\bmake ([a-z-]+)/g)].map(([, target = '']) => target);
      for (const target of targets) expect(makefile, target).to.contain(`\n.PHONY: ${target}\n`);
    });

    it('ends each job after some time, and grants permissions by name', () => {
      for (const [job, { 'timeout-minutes': minutes }] of Object.entries(workflow.jobs))
        expect(minutes, job).to.be.greaterThan(0);
      expect(workflow.permissions).to.be.an('object');
    });

    it('puts no text of a pull request or tag into a command', () => {
      for (const { run = '' } of steps) expect(run).to.not.match(/\$\{\{\s*(github|inputs)\./);
    });
  });
}
