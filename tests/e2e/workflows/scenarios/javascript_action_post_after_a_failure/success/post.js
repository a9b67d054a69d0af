console.log('post of success');
