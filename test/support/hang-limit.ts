/**
 * The time after which a test gives up a wait, in milliseconds. It only keeps a test from hanging forever. It is long,
 * because a machine that runs many other processes needs a hundred times as long as an idle machine, and a test must
 * pass on both. The timeout of a test, in .mocharc.json and .mocharc.integration.json, is several times longer, so that
 * the error of the wait appears instead of that of Mocha.
 */
export const HANG_LIMIT_MS = 180_000;
