// Parses stylesheets from standard input with css-tree, in the folder named, one answer line each; see conversation.py for the format.
// A declaration of a property that it knows has to have a value of this property, unless there is a variable in it.

const answerTexts = require('./answer_texts.js');
const { lexer, parse, walk } = require(process.argv[2]);

function judge(text) {
  let refusal = '';
  const refuse = ({ line, column, message }) => {
    refusal ||= `${line || 0}:${column || 0}:${message.split('\n')[0]}`;
  };
  walk(parse(text, { onParseError: refuse, positions: true }), (node) => {
    if (node.type !== 'Declaration' || !lexer.getProperty(node.property)) return;
    const { error } = lexer.matchDeclaration(node);
    if (error && error.name === 'SyntaxMatchError') refuse({ message: `a value of ${node.property}`, ...node.loc.start });
  });
  return refusal;
}

answerTexts(judge);
