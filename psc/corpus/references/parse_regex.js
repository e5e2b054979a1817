// Reads patterns of regular expressions from standard input with V8, one answer line each; see conversation.py for the format.

const answerTexts = require('./answer_texts.js');

// What is compared within a pattern: bounds of classes and counts, names of groups.
const OF_NAMES = /out of order|Duplicate capture group|Invalid named capture referenced/;

answerTexts((pattern) => {
  try {
    new RegExp(pattern);
    return '';
  } catch (e) {
    const message = e.message.slice(e.message.lastIndexOf(': ') + 2).replace(/\n/g, ' ');
    return `${OF_NAMES.test(message) ? '=' : ''}0:0:${message}`;
  }
});
