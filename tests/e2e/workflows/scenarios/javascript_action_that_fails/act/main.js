console.log('::error::it broke');
process.exitCode = 3;
