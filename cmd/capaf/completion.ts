import type { Command } from 'commander';

/** Shells load these scripts at their start. They call `capaf complete` to find what can follow the words so far. */
export const COMPLETION_SCRIPTS = {
  bash: `_capaf() {
  mapfile -t COMPREPLY < <(capaf complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _capaf capaf
`,
  fish: `complete -c capaf -a '(capaf complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
  zsh: `#compdef capaf
_capaf() {
  local -a found
  found=(\${(f)"$(capaf complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
compdef _capaf capaf
`,
} as const;

/** Returns commands, options, or the values of an option. Returns `''` where a file or a name is expected. */
export function findCompletions(program: Command, words: readonly string[]): string {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  let command = program;
  for (const word of before) command = command.commands.find((each) => each.name() === word) ?? command;
  const option = command.options.find(({ long, short }) => [long, short].includes(before.at(-1)));
  const options = command.options.flatMap(({ long }) => long ?? []);
  const names = command.commands.map((each) => each.name()).filter((name) => name !== 'complete');
  const hasValue = option?.required === true || option?.optional === true;
  const found = hasValue ? (option.argChoices ?? []) : last.startsWith('-') ? options : names;
  return found
    .filter((each) => each.startsWith(last))
    .map((each) => `${each}\n`)
    .join('');
}
