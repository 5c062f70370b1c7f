// docs/reference/cli.md, from the commands of the program.
import { cell, code, generatedBy, page, table } from './markdown.js';

const INTRODUCTION = `This page lists every command of \`tidegate\`, with its arguments and options. \`tidegate COMMAND --help\` prints the
same text. Commands that talk to a cluster use \`--kubeconfig\`, the variable \`KUBECONFIG\`, \`~/.kube/config\` or the
service account of the pod, in this order. Commands that talk to a local cluster find it in \`--state\`.

The program is also a kubectl plugin: \`kubectl tidegate COMMAND\` works when \`kubectl-tidegate\` is in your \`PATH\`.`;

export function cliPage(program) {
  const commands = visible(program);
  return page(
    generatedBy('the commands in packages/tidegate/src/cli'),
    '# Command-line reference',
    INTRODUCTION,
    table(
      ['Command', 'What it does'],
      commands.map((command) => [
        `[${code(`tidegate ${command.name()}`)}](#tidegate-${command.name()})`,
        sentence(cell(command.description())),
      ]),
    ),
    ...commands.flatMap((command) => section(command, `tidegate ${command.name()}`, '##')),
  );
}

const visible = (command) =>
  command.commands.filter((each) => each.name() !== 'help' && each._hidden !== true);

function section(command, name, heading) {
  const subcommands = visible(command);
  const options = command.options.filter((option) => !option.hidden);
  return [
    `${heading} ${name}`,
    sentence(command.description()),
    subcommands.length === 0 ? usage(command, name) : undefined,
    command.registeredArguments.length === 0
      ? undefined
      : table(['Argument', 'Meaning'], command.registeredArguments.map(argumentRow)),
    options.length === 0 ? undefined : table(['Option', 'Meaning', 'Default'], options.map(optionRow)),
    helpText(command),
    ...subcommands.flatMap((each) => section(each, `${name} ${each.name()}`, `${heading}#`)),
  ];
}

const sentence = (text) => {
  const first = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(first) ? first : `${first}.`;
};

function usage(command, name) {
  const aliases = command.aliases();
  const line = `\`\`\`text\n${name} ${command.usage()}\n\`\`\``;
  return aliases.length === 0 ? line : `${line}\n\nAlso: ${aliases.map(code).join(', ')}.`;
}

const argumentRow = (argument) => [
  code(argument.variadic ? `${argument.name()}...` : argument.name()),
  sentence(cell(argument.description)),
];

/** Some options state their default in words, because it depends on something else. */
const STATED_DEFAULT = / *\(default: (.*)\)$/;

function optionRow(option) {
  const stated = STATED_DEFAULT.exec(option.description)?.[1];
  const description = sentence(cell(option.description.replace(STATED_DEFAULT, '')));
  const choices = option.argChoices === undefined ? '' : ` One of ${option.argChoices.map(code).join(', ')}.`;
  const required = option.mandatory && option.defaultValue === undefined ? ' Required.' : '';
  return [code(option.flags), `${description}${choices}${required}`, stated ?? defaultOf(option)];
}

function defaultOf({ defaultValue, defaultValueDescription, required, optional, negate }) {
  if (defaultValueDescription !== undefined) return cell(defaultValueDescription);
  if (negate || defaultValue === undefined || (!required && !optional && typeof defaultValue === 'boolean'))
    return '';
  if (Array.isArray(defaultValue)) return defaultValue.map(code).join(', ');
  return code(defaultValue);
}

/** What a command prints below its options: notes, then examples. Notes are Markdown, examples a block. */
function helpText(command) {
  const written = [];
  command.emit('afterHelp', { error: false, command, write: (text) => written.push(text) });
  const text = written.join('').trim();
  if (text === '') return undefined;
  const [notes, examples = ''] = text.split(/^Examples?:\n/m);
  const block = examples
    .split('\n')
    .map((line) => line.replace(/^ {2}/, ''))
    .join('\n')
    .trim();
  return [notes.trim(), block === '' ? '' : `\`\`\`sh\n${block}\n\`\`\``]
    .filter((part) => part !== '')
    .join('\n\n');
}
