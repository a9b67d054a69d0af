console.log(`post ${process.env.INPUT_NAME} ${process.env.STATE_kept}`);
