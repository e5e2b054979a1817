// Parses texts of TypeScript (`ts`), TypeScript with JSX (`tsx`) or JavaScript with JSX (`jsx`, the second argument) from standard input
// with the package typescript in the folder named, one answer line each; see conversation.py for the format. Errors of syntax have codes
// below 2000. The checker finds some of them, such as modifiers twice, and looks at all types meanwhile, which takes minutes where
// they are computed: it is asked where the third argument is `checked`. Of its errors
// 8000 and more, and the two of 17000, are about what only JavaScript's comments may say. What depends on how modules are compiled
// (`export =`) is no error, nor what is about types. Of JSX, empty values (17000) and commas (18007) are errors of syntax, which are not
// looked for in JavaScript, so they are found here; names that do not match (17002, 17008) are errors of names.

const answerTexts = require('./answer_texts.js');
const ts = require(process.argv[2]);
const kind = process.argv[3];
const isChecked = process.argv[4] === 'checked';

const OPTIONS = { allowJs: true, checkJs: true, jsx: ts.JsxEmit.Preserve,  noLib: true, noResolve: true, target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, experimentalDecorators: true };

const OTHER = new Set([1202, 1203, 1268, 1337, 1360]);
const isSyntax = ({ code }) =>
  (code < 2000 && !OTHER.has(code)) || (code >= 8000 && code < 9000) || code === 17019 || code === 17020;

// The checker looks for errors of syntax, too; of JavaScript it says more, of types and comments with types.
const isOfJavaScript = (file, { code, start }) => {
  const comment = file.text.lastIndexOf('/**', start);
  return code < 2000 && code !== 1016 && (comment < 0 || file.text.indexOf('*/', comment) < start);
};
const isOfNames = ({ code }) => code === 17002 || code === 17008;

function firstWrongExpression(file, node) {
  if (ts.isJsxExpression(node)) {
    const start = node.getStart(file);
    if (!node.expression && ts.isJsxAttribute(node.parent)) return { file, start, messageText: 'an attribute without a value' };
    if (node.expression && ts.isBinaryExpression(node.expression) && node.expression.operatorToken.kind === ts.SyntaxKind.CommaToken)
      return { file, start, messageText: 'a comma in braces' };
  }
  return ts.forEachChild(node, (child) => firstWrongExpression(file, child));
}

function firstError(name, text) {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind[kind.toUpperCase()]);
  if (file.parseDiagnostics.length) return file.parseDiagnostics[0];
  const wrong = firstWrongExpression(file, file);
  if (wrong) return wrong;
  if (!isChecked) return undefined;
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
  const checked = program.getSemanticDiagnostics(file).filter((d) => kind !== 'jsx' || isOfJavaScript(file, d));
  return [...program.getSyntacticDiagnostics(file), ...checked].find(isSyntax);
}

function judge(text) {
  const error = firstError(`text.${kind}`, text);
  if (!error || (kind === 'ts' && !firstError('text.d.ts', text))) return '';
  const { line, character } = error.file.getLineAndCharacterOfPosition(error.start);
  if (isOfNames(error)) return `=${line + 1}:${character}:names of elements that do not match`;
  return `${line + 1}:${character}:${ts.flattenDiagnosticMessageText(error.messageText, ' ').split('\n')[0]}`;
}

answerTexts(judge);
