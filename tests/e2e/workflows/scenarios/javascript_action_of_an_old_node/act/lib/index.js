console.log('old action ran');
