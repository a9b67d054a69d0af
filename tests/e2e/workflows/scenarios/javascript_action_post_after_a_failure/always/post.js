console.log('post of always');
