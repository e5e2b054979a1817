// Parses GoogleSQL scripts from standard input with ZetaSQL's own server, one answer line each; see conversation.py for the format.

const { spawn } = require('node:child_process');
const net = require('node:net');
const path = require('node:path');

const answerTexts = require('./answer_texts.js');

const [home] = process.argv.slice(2);
const PROTOS = path.join(home, 'lib', 'zetasql', 'protos');
const SECONDS_TO_START = 60;

function freePort() {
  return new Promise((done) => {
    const probe = net.createServer().listen(0, 'localhost', () => {
      const { port } = probe.address();
      probe.close(() => done(String(port)));
    });
  });
}

async function main() {
  const there = (name) => require(require.resolve(name, { paths: [home] }));
  const grpc = there('@grpc/grpc-js');
  const definition = there('@grpc/proto-loader').loadSync('local_service.proto', { enums: String, includeDirs: [PROTOS] });
  const { ZetaSqlLocalService } = grpc.loadPackageDefinition(definition).zetasql.local_service;

  const port = await freePort();
  const extension = (process.arch.startsWith('arm') ? '_arm' : '') + (process.platform === 'darwin' ? '' : '.so');
  const server = spawn(path.join(home, 'lib', 'zetasql', `remote_server${extension}`), ['localhost', port], { stdio: 'ignore' });
  const client = new ZetaSqlLocalService(`localhost:${port}`, grpc.credentials.createInsecure());
  const call = (name, request) => new Promise((done, failed) => client[name](request, (e, answer) => (e ? failed(e) : done(answer))));
  try {
    await new Promise((done, failed) => client.waitForReady(Date.now() + 1000 * SECONDS_TO_START, (e) => (e ? failed(e) : done())));
    const options = await call('GetLanguageOptions', { maximumFeatures: true });
    await answerTexts(async (text) => {
      try {
        await call('Parse', { sqlStatement: text, options, allowScript: true });
        return '';
      } catch (e) {
        if (e.code !== grpc.status.INVALID_ARGUMENT) throw e;
        return answerOf(e);
      }
    });
  } finally {
    server.kill();
  }
}

function answerOf(error) {
  const [message] = error.details.split('\n');
  const place = /\[at (\d+):(\d+)\]$/.exec(message);
  return place ? `${place[1]}:${place[2]}:${message.slice(0, place.index).trim()}` : `0:0:${message}`;
}

main();
