const fs = require('fs');
console.log(`Hello ${process.env['INPUT_WHO-TO-GREET']}${process.env.INPUT_MARK}`);
fs.appendFileSync(process.env.GITHUB_OUTPUT, 'time=now\n');
