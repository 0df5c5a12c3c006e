import { eksScenarios } from '../aws/conformance/eks-scenarios.ts';
import { iamScenarios } from '../aws/conformance/iam-scenarios.ts';
import { installMoto, NoMoto } from '../aws/conformance/moto.ts';
import { emulatorTarget, motoTarget } from '../aws/conformance/target.ts';
import type { Target } from '../aws/conformance/target.ts';

const scenarios = [...eksScenarios, ...iamScenarios];

/**
 * One suite, two implementations of AWS: the emulator of these tests, and moto, which others wrote. What both do alike
 * is not only our own idea of AWS.
 */
describe('AWS as the SDK sees it', () => {
  describe('the emulator', () => {
    let target: Target;

    before(async () => {
      target = await emulatorTarget();
    });

    after(async () => target.close());

    for (const scenario of scenarios) {
      const title =
        scenario.on === 'both' ? scenario.title : `${scenario.title} (not asked of moto: ${scenario.because})`;
      it(title, async () => target.withEmptyWorld(scenario.run));
    }
  });

  describe('moto', () => {
    let target: Target | undefined;

    before(async function () {
      // The first run downloads some 20 packages.
      this.timeout(300_000);
      const tell = (message: string): void => {
        process.stderr.write(`${message}\n`);
      };
      try {
        target = await motoTarget(await installMoto(tell));
      } catch (error) {
        if (!(error instanceof NoMoto)) throw error;
        tell(`\nLEFT OUT: the AWS emulator is NOT compared with moto. ${error.message}\n`);
        this.skip();
      }
    });

    after(async () => target?.close());

    for (const scenario of scenarios) {
      if (scenario.on === 'both') it(scenario.title, async () => target?.withEmptyWorld(scenario.run));
    }
  });
});
