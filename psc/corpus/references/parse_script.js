// Parses JavaScript texts from standard input with V8, one answer line each; see conversation.py for the format.

const vm = require('node:vm');

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

let pending = Buffer.alloc(0);
process.stdin.on('data', (chunk) => {
  pending = Buffer.concat([pending, chunk]);
  while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE(0)) {
    const end = 4 + pending.readUInt32BE(0);
    const text = pending.subarray(4, end).toString('utf8');
    pending = pending.subarray(end);
    process.stdout.write(judge(text) + '\n');
  }
});
