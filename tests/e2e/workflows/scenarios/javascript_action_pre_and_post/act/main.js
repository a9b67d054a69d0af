const fs = require('fs');
console.log(`main ${process.env.INPUT_NAME}`);
fs.appendFileSync(process.env.GITHUB_STATE, `kept=state-${process.env.INPUT_NAME}\n`);
