// The scenarios of tests/clients with amqplib: one line each, "ok NAME" or "not ok NAME: why".
'use strict'

const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const amqp = require('amqplib')
// The package keeps its methods to itself, and no call of its own provokes a 540.
const { BasicQos, BasicQosOk } = require(path.join(path.dirname(require.resolve('amqplib')), 'lib', 'defs.js'))

const [address] = process.argv.slice(2)
const { WARREN_TLS_CA, WARREN_TLS_CERT, WARREN_TLS_KEY, WARREN_TLS_EXTERNAL } = process.env
const TIMEOUT_MS = 30_000
let serial = 0

/** As the environment says: whom to trust, which certificate to show. */
function dial(url) {
  const options = {}
  if (WARREN_TLS_CA) options.ca = [fs.readFileSync(WARREN_TLS_CA)]
  if (WARREN_TLS_CERT) Object.assign(options, { cert: fs.readFileSync(WARREN_TLS_CERT), key: fs.readFileSync(WARREN_TLS_KEY) })
  if (WARREN_TLS_EXTERNAL) options.credentials = amqp.credentials.external()
  return amqp.connect(url, options)
}

/** What one scenario opened, and closes. */
class Session {
  connections = []
  queues = []
  exchanges = []

  async connect(url = address) {
    const connection = await dial(url)
    connection.on('error', () => {})
    this.connections.push(connection)
    return connection
  }

  async channel(kind = 'createChannel') {
    const channel = await (await this.connect())[kind]()
    channel.on('error', () => {})
    return channel
  }

  name(kind) {
    return `warren-node-${process.pid}-${++serial}-${kind}`
  }

  async queue(channel) {
    const { queue } = await channel.assertQueue(this.name('q'), { durable: true })
    this.queues.push(queue)
    return queue
  }

  async exchange(channel, kind) {
    const { exchange } = await channel.assertExchange(this.name('x'), kind, { durable: true })
    this.exchanges.push(exchange)
    return exchange
  }

  async close() {
    const channel = await this.channel()
    for (const queue of this.queues) await channel.deleteQueue(queue)
    for (const exchange of this.exchanges) await channel.deleteExchange(exchange)
    for (const connection of this.connections) await connection.close().catch(() => {})
  }
}

/** A promise that fails when nothing happens. */
function inTime(promise, what) {
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`${what} did not come`)), TIMEOUT_MS) })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Deliveries of a queue, one at a time. */
async function consumer(channel, queue, options) {
  const arrived = []
  const waiting = []
  const { consumerTag } = await channel.consume(queue, (message) => {
    const resolve = waiting.shift()
    if (resolve) resolve(message)
    else arrived.push(message)
  }, options)
  return { consumerTag, next: () => inTime(arrived.length ? Promise.resolve(arrived.shift()) : new Promise((resolve) => waiting.push(resolve)), 'a delivery') }
}

async function drain(channel, queue) {
  const bodies = []
  for (let message; (message = await channel.get(queue, { noAck: true }));) bodies.push(message.content.toString())
  return bodies
}

const once = (emitter, event) => inTime(new Promise((resolve) => emitter.once(event, (...values) => resolve(values))), event)

/** `provoke` must end its channel with that code and text; the connection must live on. */
async function channelError(s, code, text, provoke) {
  const connection = await s.connect()
  const channel = await connection.createChannel()
  const ended = once(channel, 'error')
  const outcome = Promise.resolve(provoke(channel)).catch(() => {})
  const [error] = await ended
  await outcome
  assert.equal(error.code, code)
  assert.ok(error.message.includes(`"${text}"`), `${error.message} instead of ${text}`)
  const next = await connection.createChannel()
  await next.assertQueue('', { exclusive: true })
}

/** `provoke` must end its whole connection with that code and text. */
async function connectionError(s, code, text, provoke) {
  const connection = await s.connect()
  const channel = await connection.createChannel()
  channel.on('error', () => {})
  const ended = once(connection, 'error')
  const closed = once(connection, 'close')
  const outcome = Promise.resolve(provoke(channel)).catch(() => {})
  const [error] = await ended
  await Promise.race([outcome, closed])
  assert.equal(error.code, code)
  assert.ok(error.message.includes(`"${text}"`), `${error.message} instead of ${text}`)
  await closed
}

const scenarios = {
  async hello_world(s) {
    const channel = await s.channel()
    const queue = await s.queue(channel)
    channel.sendToQueue(queue, Buffer.from('Hello World!'), { contentType: 'text/plain', headers: { a: 1, b: { c: ['x', true] } } })
    const message = await (await consumer(channel, queue, { noAck: true })).next()
    assert.equal(message.content.toString(), 'Hello World!')
    assert.deepEqual([message.properties.contentType, message.properties.headers, message.fields.redelivered], ['text/plain', { a: 1, b: { c: ['x', true] } }, false])
  },

  async work_queue(s) {
    const setup = await s.channel()
    const queue = await s.queue(setup)
    const workers = []
    for (const _ of [0, 1]) {
      const channel = await s.channel()
      await channel.prefetch(1)
      workers.push({ channel, ...(await consumer(channel, queue)) })
    }
    for (let task = 0; task < 6; task++) setup.sendToQueue(queue, Buffer.from(String(task)), { persistent: true })
    // The second worker keeps its task; the first gets all others, one after each ack.
    const kept = await workers[1].next()
    const seen = new Set([kept.content.toString()])
    for (let task = 0; task < 5; task++) {
      const message = await workers[0].next()
      seen.add(message.content.toString())
      workers[0].channel.ack(message)
    }
    assert.equal(seen.size, 6)
    workers[1].channel.ack(kept)
  },

  async publish_subscribe(s) {
    const channel = await s.channel()
    const exchange = await s.exchange(channel, 'fanout')
    const queues = []
    for (let i = 0; i < 3; i++) {
      const queue = await s.queue(channel)
      await channel.bindQueue(queue, exchange, '')
      queues.push(queue)
    }
    channel.publish(exchange, 'whatever', Buffer.from('news'))
    for (const queue of queues) assert.deepEqual(await drain(channel, queue), ['news'])
  },

  async routing(s) {
    const channel = await s.channel()
    const exchange = await s.exchange(channel, 'direct')
    const [errors, all] = [await s.queue(channel), await s.queue(channel)]
    await channel.bindQueue(errors, exchange, 'error')
    for (const severity of ['info', 'warning', 'error']) {
      await channel.bindQueue(all, exchange, severity)
      channel.publish(exchange, severity, Buffer.from(severity))
    }
    channel.publish(exchange, 'debug', Buffer.from('debug'))
    assert.deepEqual(await drain(channel, errors), ['error'])
    assert.deepEqual(await drain(channel, all), ['info', 'warning', 'error'])
  },

  async topics(s) {
    const channel = await s.channel()
    const exchange = await s.exchange(channel, 'topic')
    const [orange, lazy] = [await s.queue(channel), await s.queue(channel)]
    await channel.bindQueue(orange, exchange, '*.orange.*')
    await channel.bindQueue(lazy, exchange, 'lazy.#')
    for (const key of ['quick.orange.rabbit', 'lazy.orange.elephant', 'lazy', 'quick.brown.fox', 'lazy.a.b.c']) channel.publish(exchange, key, Buffer.from(key))
    assert.deepEqual(await drain(channel, orange), ['quick.orange.rabbit', 'lazy.orange.elephant'])
    assert.deepEqual(await drain(channel, lazy), ['lazy.orange.elephant', 'lazy', 'lazy.a.b.c'])
  },

  async rpc_direct_reply_to(s) {
    const server = await s.channel()
    const queue = await s.queue(server)
    await server.consume(queue, (request) => {
      server.sendToQueue(request.properties.replyTo, Buffer.from(String(2 * Number(request.content))), { correlationId: request.properties.correlationId })
    }, { noAck: true })
    const client = await s.channel()
    const replies = await consumer(client, 'amq.rabbitmq.reply-to', { noAck: true })
    client.sendToQueue(queue, Buffer.from('20'), { replyTo: 'amq.rabbitmq.reply-to', correlationId: '7' })
    const reply = await replies.next()
    assert.deepEqual([reply.content.toString(), reply.properties.correlationId], ['40', '7'])
  },

  async publisher_confirms(s) {
    const channel = await s.channel('createConfirmChannel')
    const queue = await s.queue(channel)
    let confirmed = 0
    for (let i = 0; i < 200; i++) channel.sendToQueue(queue, Buffer.from(String(i)), { persistent: true }, (error) => { if (!error) confirmed++ })
    await inTime(channel.waitForConfirms(), 'the confirms')
    assert.equal(confirmed, 200)
    assert.equal((await channel.checkQueue(queue)).messageCount, 200)
  },

  async mandatory_return_before_confirm(s) {
    const channel = await s.channel('createConfirmChannel')
    const events = []
    channel.on('return', (message) => events.push([message.fields.replyCode, message.fields.replyText, message.content.toString()]))
    channel.publish('', s.name('nowhere'), Buffer.from('back'), { mandatory: true }, () => events.push('confirmed'))
    await inTime(channel.waitForConfirms(), 'the confirm')
    assert.deepEqual(events, [[312, 'NO_ROUTE', 'back'], 'confirmed'])
  },

  async body_10_mb(s) {
    const channel = await s.channel()
    const queue = await s.queue(channel)
    const body = Buffer.alloc(10 * 2 ** 20, '0123456789')
    channel.sendToQueue(queue, body, { persistent: true })
    const message = await (await consumer(channel, queue)).next()
    assert.ok(message.content.equals(body), `the body came back with ${message.content.length} bytes`)
    channel.ack(message)
  },

  async consumer_cancel_notification(s) {
    const channel = await s.channel()
    const queue = await s.queue(channel)
    const cancelled = await consumer(channel, queue)
    await (await s.channel()).deleteQueue(queue)
    assert.equal(await cancelled.next(), null)
    await s.queue(channel)
  },

  error_403_channel: (s) => channelError(s, 403, "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'", (channel) => channel.assertQueue('amq.mine')),

  async error_404_channel(s) {
    const missing = s.name('missing')
    await channelError(s, 404, `NOT_FOUND - no queue '${missing}' in vhost '/'`, (channel) => channel.checkQueue(missing))
  },

  async error_404_publish(s) {
    const missing = s.name('missing')
    await channelError(s, 404, `NOT_FOUND - no exchange '${missing}' in vhost '/'`, (channel) => { channel.publish(missing, '', Buffer.from('lost')) })
  },

  async error_405_channel(s) {
    const queue = s.name('q')
    await (await s.channel()).assertQueue(queue, { exclusive: true })
    const text = `RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '${queue}' in vhost '/'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration.`
    await channelError(s, 405, text, (channel) => channel.consume(queue, () => {}))
  },

  async error_406_channel(s) {
    const queue = await s.queue(await s.channel())
    const text = `PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue '${queue}' in vhost '/': received 'true' but current is 'false'`
    await channelError(s, 406, text, (channel) => channel.assertQueue(queue, { durable: true, autoDelete: true }))
  },

  error_406_unknown_delivery_tag: (s) => channelError(s, 406, 'PRECONDITION_FAILED - unknown delivery tag 99', (channel) => { channel.ack({ fields: { deliveryTag: 99 } }) }),

  async error_403_login() {
    const wrong = new URL(address)
    wrong.password = 'wrong'
    await assert.rejects(dial(wrong.href), /403 \(ACCESS[-_]REFUSED\)|ACCESS_REFUSED/)
  },

  async error_530_vhost() {
    const elsewhere = new URL(address)
    elsewhere.pathname = '/no-such-vhost'
    await assert.rejects(dial(elsewhere.href), /ConnectionClose/)
  },

  async error_530_connection(s) {
    const queue = await s.queue(await s.channel())
    await connectionError(s, 530, "NOT_ALLOWED - attempt to reuse consumer tag 'mine'", async (channel) => {
      for (const _ of [0, 1]) await channel.consume(queue, () => {}, { consumerTag: 'mine' })
    })
  },

  error_540_connection: (s) => connectionError(s, 540, 'NOT_IMPLEMENTED - prefetch_size!=0 (10)', (channel) => channel.rpc(BasicQos, { prefetchSize: 10, prefetchCount: 0, global: false }, BasicQosOk)),
}

async function main() {
  let failed = 0
  // Where the certificate says who it is, there is no password to be wrong.
  if (WARREN_TLS_EXTERNAL) delete scenarios.error_403_login
  for (const [name, run] of Object.entries(scenarios)) {
    const s = new Session()
    try {
      await inTime(run(s), name)
      console.log(`ok ${name}`)
    } catch (error) {
      failed++
      console.log(`not ok ${name}: ${String(error.message).replaceAll('\n', ' ')}`)
    }
    await s.close().catch(() => {})
  }
  process.exit(failed ? 1 : 0)
}

main()
