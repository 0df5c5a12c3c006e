import { expect } from 'chai';
import { wrongArrow } from './arrows.ts';

describe('the import arrows', () => {
  const allowed: readonly (readonly [importer: string, specifier: string])[] = [
    ['cmd/manager/main.ts', '../../controllers/awsfargateprofile/controller.ts'],
    ['controllers/awsfargateprofile/decide.ts', '../../pkg/fargate/names.ts'],
    ['controllers/awsfargateprofile/decide.ts', '../../api/names.ts'],
    ['controllers/awsfargateprofile/decide.ts', './observe.ts'],
    ['controllers/awsfargateprofile/decide.ts', 'fp-ts/lib/Either.js'],
    ['pkg/runtime/manager.ts', '../kube/types.ts'],
    ['pkg/kube/reflector.ts', '../env/clock.ts'],
    ['pkg/cloud/user-agent.ts', '../version.ts'],
    ['pkg/kube/reflector.test.ts', '../../test/support/eventually.ts'],
    ['pkg/kube/testing/server.ts', '../../../test/envtest/api.ts'],
    ['test/integration/create.test.ts', '../aws/wire/server.ts'],
    ['test/integration/create.test.ts', '../../api/names.ts'],
    ['test/aws/model/world.test.ts', '../../support/eventually.ts'],
  ];
  for (const [importer, specifier] of allowed) {
    it(`let ${importer} import ${specifier}`, () => {
      expect(wrongArrow(importer, specifier)).to.equal(undefined);
    });
  }

  const refused: readonly (readonly [importer: string, specifier: string, why: string])[] = [
    ['api/names.ts', '../pkg/env/clock.ts', 'api may not import pkg/env'],
    ['pkg/fargate/names.ts', '../../controllers/awsfargateprofile/decide.ts', 'pkg/fargate may not import controllers'],
    ['pkg/fargate/names.test.ts', '../../controllers/a.ts', 'pkg/fargate may not import controllers'],
    ['pkg/env/clock.ts', '../kube/types.ts', 'pkg/env may not import pkg/kube'],
    ['pkg/kube/client.ts', '../runtime/types.ts', 'pkg/kube may not import pkg/runtime'],
    ['pkg/kube/client.ts', '../cloud/types.ts', 'pkg/kube may not import pkg/cloud'],
    ['pkg/kube/client.ts', '../../test/support/eventually.ts', 'pkg/kube may not import test/support'],
    ['pkg/cloud/types.ts', '../fargate/names.ts', 'pkg/cloud may not import pkg/fargate'],
    ['controllers/a/b.ts', '../../cmd/manager/main.ts', 'controllers may not import cmd'],
    ['test/aws/model/world.ts', '../../../pkg/fargate/names.ts', 'test/aws may not import pkg/fargate'],
    ['test/aws/model/world.test.ts', '../../../api/names.ts', 'test/aws may not import api'],
    ['pkg/brandnew/x.ts', '../../api/names.ts', 'pkg/brandnew has no row in hack/lint/arrows.ts yet'],
    ['controllers/a/b.ts', '../../pkg/brandnew/x.ts', 'pkg/brandnew has no row in hack/lint/arrows.ts yet'],
    ['pkg/kube/client.ts', '../env/../cloud/types.ts', 'pkg/kube may not import pkg/cloud'],
  ];
  for (const [importer, specifier, why] of refused) {
    it(`refuse ${importer} the import of ${specifier}`, () => {
      expect(wrongArrow(importer, specifier)).to.contain(why);
    });
  }
});
