// Parses JavaScript texts from standard input with V8, one answer line each; see conversation.py for the format.

const vm = require('node:vm');

const answerTexts = require('./answer_texts.js');

function judge(text) {
  try {
    new vm.Script(text, { filename: 'text' });
    return '';
  } catch (asScript) {
    try {
      new vm.SourceTextModule(text);
      return '';
    } catch (asModule) {
      const place = /^text:(\d+)/.exec(asScript.stack);
      return `${place ? place[1] : 0}:0:${String(asScript.message).split('\n')[0]}`;
    }
  }
}

answerTexts(judge);
