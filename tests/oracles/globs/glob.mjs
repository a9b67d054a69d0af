// Answers lines of JSON, each a question to GitHub's own glob, with lines of JSON.
import * as glob from '@actions/glob'
import readline from 'node:readline'
import fs from 'node:fs'

// The package writes its debug messages to standard output; the answers go elsewhere.
const answers = fs.createWriteStream(process.argv[2])
for await (const line of readline.createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line)
  let answer
  try {
    const globber = await glob.create(asked.text, {
      implicitDescendants: asked.descendants,
      followSymbolicLinks: asked.follow,
      excludeHiddenFiles: !asked.hidden,
    })
    answer = { paths: await globber.glob(), places: globber.getSearchPaths() }
  } catch (error) {
    answer = { error: String(error.message) }
  }
  answers.write(JSON.stringify(answer) + '\n')
}
answers.end()
