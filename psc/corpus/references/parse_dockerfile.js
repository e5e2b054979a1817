// Validates Dockerfiles from standard input with dockerfile-utils, one answer line each; see conversation.py for the format.

const answerTexts = require('./answer_texts.js');

const [home] = process.argv.slice(2);
const { validate } = require(home);
const ERROR = 1;

answerTexts((text) => {
  const first = validate(text).find((problem) => problem.severity === ERROR);
  if (first === undefined) return '';
  const { line, character } = first.range.start;
  return `${line + 1}:${character + 1}:${first.message.replace(/"[^"]*"|'[^']*'/g, '...').split('\n')[0]}`;
});
