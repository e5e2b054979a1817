// Parses formulas from standard input with the package katex in the folder named, one answer line each; see conversation.py for the format.

const path = require('path');
const answerTexts = require('./answer_texts.js');

const [home] = process.argv.slice(2);
const katex = require(path.join(home, 'dist', 'katex.js'));

answerTexts((text) => {
  try {
    katex.__parse(text, { displayMode: true, strict: 'ignore', trust: true });
    return '';
  } catch (e) {
    return `0:0:${e.message.split('\n')[0].replace(/^KaTeX parse error: | at (position|end).*/g, '').replace(/'[^']*'/g, '...')}`;
  }
});
