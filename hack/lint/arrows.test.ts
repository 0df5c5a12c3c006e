import { expect } from 'chai';
import { wrongArrow } from './arrows.ts';

// The linter proves that the imports of this repository are allowed: it runs on all files.
describe('wrongArrow', () => {
  const refused: readonly (readonly [importer: string, specifier: string, why: string])[] = [
    ['api/names.ts', 'controller-runtime/env', 'api may not import pkg/controller-runtime/env'],
    ['pkg/fargate/names.ts', '../../controllers/awsfargateprofile/decide.ts', 'pkg/fargate may not import controllers'],
    [
      'pkg/controller-runtime/client/client.ts',
      '../manager/runnable.ts',
      'client may not import pkg/controller-runtime/manager',
    ],
    [
      'pkg/controller-runtime/client/client.ts',
      '../testing/fixtures.ts',
      'client may not import pkg/controller-runtime',
    ],
    ['pkg/controller-runtime/client/client.ts', 'controller-runtime/env', 'import the file'],
    [
      'pkg/controller-runtime/client/client.test.ts',
      '../../../test/support/eventually.ts',
      'works without this repository',
    ],
    [
      'pkg/cloud/session.ts',
      '../controller-runtime/env/clock.ts',
      'is inside a package: import controller-runtime/<subject>',
    ],
    [
      'test/world/world.ts',
      '../../pkg/controller-runtime/env/index.ts',
      'is inside a package: import controller-runtime/<subject>',
    ],
    ['controllers/a/b.ts', 'controller-runtime/testing', 'is for tests'],
    ['pkg/cloud/session.ts', '../../test/support/eventually.ts', 'pkg/cloud may not import test/support'],
    ['test/aws/model/state.ts', 'controller-runtime/env', 'test/aws may not import pkg/controller-runtime/env'],
    ['test/aws/model/state.test.ts', 'controller-runtime/testing', 'test/aws may not import pkg/controller-runtime'],
    ['controllers/a/b.ts', '../../cmd/manager/main.ts', 'controllers may not import cmd'],
    [
      'controllers/awsfargateprofile/plan/plan.ts',
      '../guards/checks.ts',
      'awsfargateprofile/plan may not import controllers/awsfargateprofile/guards',
    ],
    [
      'controllers/awsfargateprofile/report/status.ts',
      '../plan/compare.ts',
      'awsfargateprofile/report may not import controllers/awsfargateprofile/plan',
    ],
    [
      'controllers/awsfargateprofile/report/requeue.ts',
      '../retry-state.ts',
      'awsfargateprofile/report may not import controllers/awsfargateprofile/retry-state.ts',
    ],
    [
      'controllers/awsfargateprofile/report/events.ts',
      '../model/observed-state.ts',
      'report/events.ts may not import controllers/awsfargateprofile/model',
    ],
    [
      'controllers/awsfargateprofile/report/status.ts',
      '../record-after-read.ts',
      'awsfargateprofile/report may not import controllers/awsfargateprofile/record-after-read.ts',
    ],
    [
      'controllers/awsfargateprofile/report/conditions.ts',
      '../observe/observe.ts',
      'awsfargateprofile/report may not import controllers/awsfargateprofile/observe',
    ],
    [
      'controllers/awsfargateprofile/guards/checks.ts',
      '../execute.ts',
      'awsfargateprofile/guards may not import controllers/awsfargateprofile',
    ],
    [
      'controllers/shared/caches.ts',
      '../identities/identities.ts',
      'controllers/shared may not import controllers/identities',
    ],
    ['test/aws/model/state.ts', '../../../pkg/fargate/names.ts', 'test/aws may not import pkg/fargate'],
    ['test/aws/model/state.test.ts', '../../../api/names.ts', 'test/aws may not import api'],
    ['test/world/world.ts', '../../tools/demo/demo.ts', 'test may not import tools'],
    ['tools/demo/demo.ts', 'controller-runtime/testing', 'tools may not import controller-runtime/testing'],
    ['pkg/brandnew/x.ts', '../../api/names.ts', 'pkg/brandnew has no row in hack/lint/arrows.ts yet'],
    ['controllers/a/b.ts', '../../pkg/brandnew/x.ts', 'pkg/brandnew has no row in hack/lint/arrows.ts yet'],
    ['controllers/a/b.ts', '../../pkg/cloud/session.ts', 'is inside pkg/cloud: import pkg/cloud/index.ts'],
    ['controllers/a/b.ts', '../../pkg/cloud/testing/calls.ts', 'is inside pkg/cloud: import pkg/cloud/index.ts'],
    ['pkg/controller-runtime/client/client.ts', '../env/../../cloud/session.ts', 'may not import pkg/cloud/session.ts'],
  ];
  for (const [importer, specifier, why] of refused) {
    it(`refuses that ${importer} imports ${specifier}`, () => {
      expect(wrongArrow(importer, specifier)).to.contain(why);
    });
  }
});
