import { eksScenarios } from '../../aws/conformance/eks-scenarios.ts';
import { iamScenarios } from '../../aws/conformance/iam-scenarios.ts';
import { installMoto, MotoUnavailable } from '../../aws/conformance/moto.ts';
import { type MotoTarget, motoTarget, runOnEmulator } from '../../aws/conformance/target.ts';

const scenarios = [...eksScenarios, ...iamScenarios];

/**
 * Runs the same scenarios on this project's AWS emulator and on moto, an independent mock of AWS. The comparison finds
 * an error of the emulator unless moto has the same error. The tests in test/aws/model have what moto does not model.
 */
describe('AWS API conformance', () => {
  describe('the emulator', () => {
    for (const { title, run } of scenarios) it(title, () => runOnEmulator(run));
  });

  describe('moto', () => {
    let target: MotoTarget | undefined;

    before(async function () {
      const tell = (message: string): void => {
        process.stderr.write(`${message}\n`);
      };
      try {
        target = await motoTarget(await installMoto(tell));
      } catch (error) {
        if (!(error instanceof MotoUnavailable)) throw error;
        tell(`\nLEFT OUT: the AWS emulator is NOT compared with moto. ${error.message}\n`);
        this.skip();
      }
    });

    after(async () => target?.close());

    for (const { title, run } of scenarios) it(title, async () => target?.run(run));
  });
});
