console.log('post as it is');
