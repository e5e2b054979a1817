// Parses stylesheets from standard input with Lightning CSS, in the folder named, one answer line each; see conversation.py for the format.
// It takes what the end of a text leaves open, which CSS calls an error and reads anyway. So this is looked at before.

const answerTexts = require('./answer_texts.js');
const { transform } = require(process.argv[2]);

const TOKEN =
  /\/\*[^]*?\*\/|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|\burl\(\s*(?:[^"'()\\\s]|\\[^])*\s*\)|\\[^]|\/\*|[^]/gi;
const CLOSES = { '}': '{', ')': '(', ']': '[' };

function leftOpen(text) {
  const open = [];
  for (const [token] of text.matchAll(TOKEN)) {
    if (/^(["']|\/\*)$/.test(token)) return token;
    if (/^[{([]$/.test(token)) open.push(token);
    if (token in CLOSES && open.pop() !== CLOSES[token]) return token;
  }
  return open.pop();
}

function judge(text) {
  const open = leftOpen(text);
  if (open) return `0:0:${open} is not closed`;
  try {
    transform({ code: Buffer.from(text), filename: 'text.css' });
    return '';
  } catch (e) {
    const place = e.loc ? `${e.loc.line}:${e.loc.column}` : '0:0';
    return `${place}:${String(e.message).split('\n')[0]}`;
  }
}

answerTexts(judge);
