// Parses TypeScript texts from standard input with the package typescript in the folder named, one answer line each; see
// conversation.py for the format. Errors of syntax have codes below 2000, and the checker finds some, such as modifiers twice;
// 8000 and more, and the two of 17000, are about what only JavaScript's comments may say. What depends on how modules are compiled
// (`export =`) is no error, nor what is about types.

const answerTexts = require('./answer_texts.js');
const ts = require(process.argv[2]);

const OPTIONS = { noLib: true, noResolve: true, target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, experimentalDecorators: true };

const OTHER = new Set([1202, 1203, 1268, 1337, 1360]);
const isSyntax = ({ code }) =>
  (code < 2000 && !OTHER.has(code)) || (code >= 8000 && code < 9000) || code === 17019 || code === 17020;

function firstError(name, text) {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  if (file.parseDiagnostics.length) return file.parseDiagnostics[0];
  const host = {
    getSourceFile: (asked) => (asked === name ? file : undefined),
    getDefaultLibFileName: () => 'lib.d.ts',
    getCurrentDirectory: () => '',
    getCanonicalFileName: (asked) => asked,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    fileExists: (asked) => asked === name,
    readFile: () => undefined,
    writeFile: () => undefined,
  };
  const program = ts.createProgram([name], OPTIONS, host);
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].find(isSyntax);
}

function judge(text) {
  const error = firstError('text.ts', text);
  if (!error || !firstError('text.d.ts', text)) return '';
  const { line, character } = error.file.getLineAndCharacterOfPosition(error.start);
  return `${line + 1}:${character}:${ts.flattenDiagnosticMessageText(error.messageText, ' ').split('\n')[0]}`;
}

answerTexts(judge);
