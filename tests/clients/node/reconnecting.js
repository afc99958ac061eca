// amqplib through restarts: tests/blackbox/languages.py says what it does. The library has no list of hosts: the loop goes through them.
'use strict'

const amqp = require('amqplib')

const [queue, ...hosts] = process.argv.slice(2)
const TIMEOUT_MS = 5000
const RETRY_MS = 100
const PACE_MS = 5
const WINDOW = 20
let isEnding = false

const say = (event) => console.log(JSON.stringify(event))
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Has it work on one channel after another, until it fails no more. */
async function keepOn(role, kind, work) {
  for (let attempt = 0; ; attempt++) {
    let connection
    try {
      connection = await amqp.connect(`amqp://guest:guest@${hosts[attempt % hosts.length]}/`, { timeout: TIMEOUT_MS })
      const closed = new Promise((_, reject) => {
        connection.on('error', reject)
        connection.on('close', () => reject(new Error('the connection was closed')))
      })
      closed.catch(() => {})
      const channel = await connection[kind]()
      channel.on('error', () => {})
      await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
      say({ opened: role })
      await Promise.race([work(channel), closed])
      return
    } catch (error) {
      say({ lost: String(error.message) })
      connection?.close().catch(() => {})
      await sleep(RETRY_MS)
    }
  }
}

/** What is published, over all connections. */
const publisher = {
  next: 0,
  unconfirmed: new Set(),

  async work(channel) {
    let isOver = false
    channel.on('close', () => { isOver = true })
    const send = (number) => {
      say({ published: number })
      channel.sendToQueue(queue, Buffer.from(String(number)), { persistent: true, mandatory: true }, (error) => {
        if (error) {
          isOver = true
        } else if (this.unconfirmed.delete(number)) {
          say({ confirmed: number })
        }
      })
    }
    for (const number of [...this.unconfirmed]) send(number)
    while (!(isEnding && this.unconfirmed.size === 0)) {
      await sleep(PACE_MS)
      if (isOver) throw new Error('the channel is over')
      if (isEnding || this.unconfirmed.size >= WINDOW) continue
      this.unconfirmed.add(this.next)
      send(this.next++)
    }
  },
}

async function consume(channel) {
  await channel.prefetch(WINDOW)
  await new Promise((_, reject) => {
    const took = channel.consume(queue, (message) => {
      if (!message) return reject(new Error('the consumer was cancelled'))
      say({ delivered: Number(message.content), redelivered: message.fields.redelivered })
      channel.ack(message)
    })
    took.catch(reject)
  })
}

process.stdin.on('end', () => { isEnding = true })
process.stdin.resume()
keepOn('publisher', 'createConfirmChannel', (channel) => publisher.work(channel))
keepOn('consumer', 'createChannel', consume)
