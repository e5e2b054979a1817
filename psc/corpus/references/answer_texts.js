// Reads texts from standard input and writes an answer line to each; see conversation.py for the format.

module.exports = async function answerTexts(judge) {
  let pending = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE(0)) {
      const end = 4 + pending.readUInt32BE(0);
      const text = pending.subarray(4, end).toString('utf8');
      pending = pending.subarray(end);
      process.stdout.write((await judge(text)) + '\n');
    }
  }
};
