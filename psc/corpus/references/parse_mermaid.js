// Parses Mermaid from standard input with the package mermaid in the folder named, one answer line each; see conversation.py for the format.
// Only flowcharts and sequence diagrams are of the language. There is no page, so texts of HTML are not made safe.

const path = require('path');
const { pathToFileURL } = require('url');
const answerTexts = require('./answer_texts.js');

const [home] = process.argv.slice(2);
const importFile = (file) => import(pathToFileURL(file).href);
const OURS = /^(flowchart|sequence)/;
// What is compared between statements: edges that are styled, participants that are active, made or ended.
const OF_NAMES = /^(Cannot set properties|The index|Trying to inactivate|The (created|destroyed) participant|A participant should)/;

async function open() {
  const purify = path.dirname(require.resolve('dompurify', { paths: [home] }));
  const { default: unsafe } = await importFile(path.join(purify, 'purify.es.mjs'));
  Object.assign(unsafe, { addHook: () => {}, sanitize: (text) => text });
  const { default: mermaid } = await importFile(path.join(home, 'dist', 'mermaid.core.mjs'));
  // A page is asked whether a colour has a name, and for elements that a text names.
  Object.assign(globalThis, { window: {}, document: { getElementById: () => null }, Option: class { style = {}; } });
  for (const level of ['log', 'info', 'debug', 'warn', 'error']) console[level] = () => {};
  return mermaid;
}

const opened = open();

async function judge(text) {
  const mermaid = await opened;
  try {
    const { diagramType } = await mermaid.parse(text);
    return OURS.test(diagramType) ? '' : '0:0:another diagram';
  } catch (e) {
    const where = e.hash?.loc ?? {};
    const message = e.message.split('\n')[0].replace(/on line \d+|:.*/g, '').trim() || e.name;
    return `${OF_NAMES.test(e.message) ? '=' : ''}${where.first_line ?? 0}:${(where.first_column ?? -1) + 1}:${e.hash?.token ? `${message}, ${e.hash.token}` : message}`;
  }
}

answerTexts(judge);
