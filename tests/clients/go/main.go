// The scenarios of tests/clients with amqp091-go: one line each, "ok NAME" or "not ok NAME: why".
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const patience = 30 * time.Second

// A scenario panics with an error to fail; `must` and `check` do that.
type scenario struct {
	name string
	run  func(*session)
}

var scenarios = []scenario{
	{"hello_world", helloWorld},
	{"work_queue", workQueue},
	{"publish_subscribe", publishSubscribe},
	{"routing", routing},
	{"topics", topics},
	{"rpc_direct_reply_to", rpc},
	{"publisher_confirms", publisherConfirms},
	{"mandatory_return_before_confirm", mandatoryReturn},
	{"body_10_mb", body10MB},
	{"transaction", transaction},
	{"consumer_cancel_notification", consumerCancelNotification},
	{"error_403_channel", error403},
	{"error_404_channel", error404},
	{"error_404_publish", error404Publish},
	{"error_405_channel", error405},
	{"error_406_channel", error406},
	{"error_406_unknown_delivery_tag", error406Tag},
	{"error_403_login", error403Login},
	{"error_530_vhost", error530Vhost},
	{"error_530_connection", error530},
	{"error_540_connection", error540},
}

func main() {
	failed := 0
	for _, each := range scenarios {
		if isExternal() && each.name == "error_403_login" {
			continue // there is no password to be wrong
		}
		if why := attempt(os.Args[1], each); why != "" {
			failed++
			fmt.Printf("not ok %s: %s\n", each.name, strings.ReplaceAll(why, "\n", " "))
		} else {
			fmt.Printf("ok %s\n", each.name)
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func attempt(address string, each scenario) (why string) {
	s := &session{address: address}
	defer s.close()
	defer func() {
		if caught := recover(); caught != nil {
			why = fmt.Sprint(caught)
		}
	}()
	done := make(chan string, 1)
	go func() {
		defer func() {
			if caught := recover(); caught != nil {
				done <- fmt.Sprint(caught)
				return
			}
			done <- ""
		}()
		each.run(s)
	}()
	select {
	case why := <-done:
		return why
	case <-time.After(2 * patience):
		return "took too long"
	}
}

var serial int

// session is what one scenario opened, and closes.
type session struct {
	address     string
	connections []*amqp.Connection
	queues      []string
	exchanges   []string
}

// isExternal tells whether the client's certificate says who it is.
func isExternal() bool { return os.Getenv("WARREN_TLS_EXTERNAL") != "" }

// dial connects as the environment says: whom to trust, which certificate to show.
func dial(address string, config amqp.Config) (*amqp.Connection, error) {
	if authorities := os.Getenv("WARREN_TLS_CA"); authorities != "" {
		pem, err := os.ReadFile(authorities)
		must(err)
		config.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		check(config.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem), "%s has no certificate", authorities)
		if chain := os.Getenv("WARREN_TLS_CERT"); chain != "" {
			certificate, err := tls.LoadX509KeyPair(chain, os.Getenv("WARREN_TLS_KEY"))
			must(err)
			config.TLSClientConfig.Certificates = []tls.Certificate{certificate}
		}
	}
	if isExternal() {
		config.SASL = []amqp.Authentication{&amqp.ExternalAuth{}}
	}
	return amqp.DialConfig(address, config)
}

func (s *session) connect() *amqp.Connection {
	connection, err := dial(s.address, amqp.Config{})
	must(err)
	s.connections = append(s.connections, connection)
	return connection
}

func (s *session) channel() *amqp.Channel { return open(s.connect()) }

func (s *session) name(kind string) string {
	serial++
	return fmt.Sprintf("warren-go-%d-%d-%s", os.Getpid(), serial, kind)
}

func (s *session) queue(channel *amqp.Channel) string {
	queue, err := channel.QueueDeclare(s.name("q"), true, false, false, false, nil)
	must(err)
	s.queues = append(s.queues, queue.Name)
	return queue.Name
}

func (s *session) exchange(channel *amqp.Channel, kind string) string {
	exchange := s.name("x")
	must(channel.ExchangeDeclare(exchange, kind, false, false, false, false, nil))
	s.exchanges = append(s.exchanges, exchange)
	return exchange
}

func (s *session) close() {
	if connection, err := dial(s.address, amqp.Config{}); err == nil {
		if channel, err := connection.Channel(); err == nil {
			for _, queue := range s.queues {
				_, _ = channel.QueueDelete(queue, false, false, false)
			}
			for _, exchange := range s.exchanges {
				_ = channel.ExchangeDelete(exchange, false, false)
			}
		}
		_ = connection.Close()
	}
	for _, connection := range s.connections {
		_ = connection.Close()
	}
}

func open(connection *amqp.Connection) *amqp.Channel {
	channel, err := connection.Channel()
	must(err)
	return channel
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(is bool, format string, arguments ...any) {
	if !is {
		panic(fmt.Errorf(format, arguments...))
	}
}

func publish(channel *amqp.Channel, exchange, key string, message amqp.Publishing) {
	must(channel.PublishWithContext(context.Background(), exchange, key, false, false, message))
}

func next(deliveries <-chan amqp.Delivery) amqp.Delivery {
	select {
	case delivery, isOpen := <-deliveries:
		check(isOpen, "the consumer ended")
		return delivery
	case <-time.After(patience):
		panic("no delivery came")
	}
}

func consume(channel *amqp.Channel, queue string, autoAck bool) <-chan amqp.Delivery {
	deliveries, err := channel.Consume(queue, "", autoAck, false, false, false, nil)
	must(err)
	return deliveries
}

// drain takes what is ready, in order.
func drain(channel *amqp.Channel, queue string) string {
	var bodies []string
	for {
		message, isThere, err := channel.Get(queue, true)
		must(err)
		if !isThere {
			return strings.Join(bodies, " ")
		}
		bodies = append(bodies, string(message.Body))
	}
}

func helloWorld(s *session) {
	channel := s.channel()
	queue := s.queue(channel)
	publish(channel, "", queue, amqp.Publishing{Body: []byte("Hello World!"), ContentType: "text/plain"})
	got := next(consume(channel, queue, true))
	check(string(got.Body) == "Hello World!" && got.ContentType == "text/plain" && got.RoutingKey == queue && !got.Redelivered, "got %+v", got)
}

func workQueue(s *session) {
	setup := s.channel()
	queue := s.queue(setup)
	var workers [2]<-chan amqp.Delivery
	for i := range workers {
		channel := s.channel()
		must(channel.Qos(1, 0, false))
		workers[i] = consume(channel, queue, false)
	}
	for i := range 6 {
		publish(setup, "", queue, amqp.Publishing{Body: fmt.Append(nil, i), DeliveryMode: amqp.Persistent})
	}
	// The second worker keeps its task; the first gets all others, one after each ack.
	kept := next(workers[1])
	seen := map[string]bool{string(kept.Body): true}
	for range 5 {
		task := next(workers[0])
		seen[string(task.Body)] = true
		must(task.Ack(false))
	}
	check(len(seen) == 6, "tasks seen: %v", seen)
	must(kept.Ack(false))
}

func publishSubscribe(s *session) {
	channel := s.channel()
	exchange := s.exchange(channel, "fanout")
	var queues []string
	for range 3 {
		queue := s.queue(channel)
		must(channel.QueueBind(queue, "", exchange, false, nil))
		queues = append(queues, queue)
	}
	publish(channel, exchange, "whatever", amqp.Publishing{Body: []byte("news")})
	for _, queue := range queues {
		check(drain(channel, queue) == "news", "a subscriber missed it")
	}
}

func routing(s *session) {
	channel := s.channel()
	exchange := s.exchange(channel, "direct")
	errorsOnly, all := s.queue(channel), s.queue(channel)
	must(channel.QueueBind(errorsOnly, "error", exchange, false, nil))
	for _, severity := range []string{"info", "warning", "error"} {
		must(channel.QueueBind(all, severity, exchange, false, nil))
		publish(channel, exchange, severity, amqp.Publishing{Body: []byte(severity)})
	}
	publish(channel, exchange, "debug", amqp.Publishing{Body: []byte("debug")})
	got := drain(channel, errorsOnly) + "|" + drain(channel, all)
	check(got == "error|info warning error", "got %s", got)
}

func topics(s *session) {
	channel := s.channel()
	exchange := s.exchange(channel, "topic")
	orange, lazy := s.queue(channel), s.queue(channel)
	must(channel.QueueBind(orange, "*.orange.*", exchange, false, nil))
	must(channel.QueueBind(lazy, "lazy.#", exchange, false, nil))
	for _, key := range []string{"quick.orange.rabbit", "lazy.orange.elephant", "lazy", "quick.brown.fox", "lazy.a.b.c"} {
		publish(channel, exchange, key, amqp.Publishing{Body: []byte(key)})
	}
	got := drain(channel, orange) + "|" + drain(channel, lazy)
	check(got == "quick.orange.rabbit lazy.orange.elephant|lazy.orange.elephant lazy lazy.a.b.c", "got %s", got)
}

func rpc(s *session) {
	server := s.channel()
	queue := s.queue(server)
	requests := consume(server, queue, true)
	client := s.channel()
	replies := consume(client, "amq.rabbitmq.reply-to", true)
	publish(client, "", queue, amqp.Publishing{Body: []byte("20"), ReplyTo: "amq.rabbitmq.reply-to", CorrelationId: "7"})
	request := next(requests)
	publish(server, "", request.ReplyTo, amqp.Publishing{Body: append(request.Body, "40"...), CorrelationId: request.CorrelationId})
	reply := next(replies)
	check(string(reply.Body) == "2040" && reply.CorrelationId == "7", "got %+v", reply)
}

func publisherConfirms(s *session) {
	channel := s.channel()
	queue := s.queue(channel)
	must(channel.Confirm(false))
	var pending []*amqp.DeferredConfirmation
	for i := range 200 {
		confirmation, err := channel.PublishWithDeferredConfirm("", queue, false, false, amqp.Publishing{Body: fmt.Append(nil, i), DeliveryMode: amqp.Persistent})
		must(err)
		pending = append(pending, confirmation)
	}
	for i, confirmation := range pending {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		acked, err := confirmation.WaitContext(ctx)
		cancel()
		must(err)
		check(acked, "publish %d was nacked", i)
	}
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	must(err)
	check(state.Messages == 200, "%d messages", state.Messages)
}

func mandatoryReturn(s *session) {
	channel := s.channel()
	must(channel.Confirm(false))
	returns := channel.NotifyReturn(make(chan amqp.Return, 1))
	confirmation, err := channel.PublishWithDeferredConfirm("", s.name("nowhere"), true, false, amqp.Publishing{Body: []byte("back")})
	must(err)
	check(confirmation.Wait(), "nacked")
	select {
	case back := <-returns:
		check(back.ReplyCode == 312 && back.ReplyText == "NO_ROUTE" && string(back.Body) == "back", "got %+v", back)
	default:
		panic("confirmed before it was returned")
	}
}

func body10MB(s *session) {
	channel := s.channel()
	queue := s.queue(channel)
	body := bytes.Repeat([]byte("0123456789"), 1<<20)
	publish(channel, "", queue, amqp.Publishing{Body: body, DeliveryMode: amqp.Persistent})
	got := next(consume(channel, queue, false))
	check(bytes.Equal(got.Body, body), "the body came back with %d bytes", len(got.Body))
	must(got.Ack(false))
}

func transaction(s *session) {
	channel, other := s.channel(), s.channel()
	queue := s.queue(other)
	must(channel.Tx())
	publish(channel, "", queue, amqp.Publishing{Body: []byte("rolled back")})
	must(channel.TxRollback())
	publish(channel, "", queue, amqp.Publishing{Body: []byte("committed")})
	check(drain(other, queue) == "", "seen before the commit")
	must(channel.TxCommit())
	check(string(next(consume(other, queue, true)).Body) == "committed", "not what was committed")
}

func consumerCancelNotification(s *session) {
	channel, other := s.channel(), s.channel()
	queue := s.queue(channel)
	cancels := channel.NotifyCancel(make(chan string, 1))
	deliveries, err := channel.Consume(queue, "mine", false, false, false, false, nil)
	must(err)
	_, err = other.QueueDelete(queue, false, false, false)
	must(err)
	select {
	case tag := <-cancels:
		check(tag == "mine", "cancelled %s", tag)
	case <-time.After(patience):
		panic("no cancel came")
	}
	for range deliveries {
		panic("a delivery after the cancel")
	}
	s.queue(channel)
}

// channelError runs `provoke` on a channel of its own: it must end with that code and text, and the connection must live on.
func channelError(connection *amqp.Connection, code int, text string, provoke func(*amqp.Channel)) {
	channel := open(connection)
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	provoke(channel)
	select {
	case reason := <-closed:
		check(reason != nil && reason.Code == code && reason.Reason == text, "got %v instead of %d %s", reason, code, text)
	case <-time.After(patience):
		panic("the channel was not closed")
	}
	check(!connection.IsClosed(), "the connection went with the channel")
	_, err := open(connection).QueueDeclare("", false, false, true, false, nil)
	must(err)
}

func error403(s *session) {
	channelError(s.connect(), 403, "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'", func(channel *amqp.Channel) {
		_, _ = channel.QueueDeclare("amq.mine", true, false, false, false, nil)
	})
	channelError(s.connect(), 403, "ACCESS_REFUSED - operation not permitted on the default exchange", func(channel *amqp.Channel) {
		_ = channel.ExchangeDelete("", false, false)
	})
}

func error404(s *session) {
	missing := s.name("missing")
	channelError(s.connect(), 404, fmt.Sprintf("NOT_FOUND - no queue '%s' in vhost '/'", missing), func(channel *amqp.Channel) {
		_, _ = channel.QueueDeclarePassive(missing, true, false, false, false, nil)
	})
}

func error404Publish(s *session) {
	missing := s.name("missing")
	channelError(s.connect(), 404, fmt.Sprintf("NOT_FOUND - no exchange '%s' in vhost '/'", missing), func(channel *amqp.Channel) {
		publish(channel, missing, "", amqp.Publishing{Body: []byte("lost")})
	})
}

func error405(s *session) {
	queue, err := s.channel().QueueDeclare(s.name("q"), false, false, true, false, nil)
	must(err)
	text := "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '%s' in vhost '/'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration."
	channelError(s.connect(), 405, fmt.Sprintf(text, queue.Name), func(channel *amqp.Channel) {
		_, _ = channel.Consume(queue.Name, "", true, false, false, false, nil)
	})
}

func error406(s *session) {
	queue := s.queue(s.channel())
	text := "PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue '%s' in vhost '/': received 'true' but current is 'false'"
	channelError(s.connect(), 406, fmt.Sprintf(text, queue), func(channel *amqp.Channel) {
		_, _ = channel.QueueDeclare(queue, true, true, false, false, nil)
	})
}

func error406Tag(s *session) {
	channelError(s.connect(), 406, "PRECONDITION_FAILED - unknown delivery tag 99", func(channel *amqp.Channel) {
		must(channel.Ack(99, false))
	})
}

func error403Login(s *session) {
	address, err := url.Parse(s.address)
	must(err)
	address.User = url.UserPassword("guest", "wrong")
	_, err = dial(address.String(), amqp.Config{})
	var refused *amqp.Error
	check(errors.As(err, &refused) && refused.Code == 403, "got %v", err)
}

func error530Vhost(s *session) {
	_, err := dial(s.address, amqp.Config{Vhost: "no-such-vhost"})
	var refused *amqp.Error
	check(errors.As(err, &refused) && (refused.Code == 530 || refused.Code == 403), "got %v", err)
}

// connectionError runs `provoke` on a connection of its own, which must end with that code and text.
func connectionError(s *session, code int, text string, provoke func(*amqp.Channel)) {
	connection := s.connect()
	closed := connection.NotifyClose(make(chan *amqp.Error, 1))
	provoke(open(connection))
	select {
	case reason := <-closed:
		check(reason != nil && reason.Code == code && reason.Reason == text, "got %v instead of %d %s", reason, code, text)
	case <-time.After(patience):
		panic("the connection was not closed")
	}
	check(connection.IsClosed(), "the connection lives on")
}

func error530(s *session) {
	connectionError(s, 530, "NOT_ALLOWED - attempt to reuse consumer tag 'mine'", func(channel *amqp.Channel) {
		queue := s.queue(channel)
		for range 2 {
			_, _ = channel.Consume(queue, "mine", false, false, false, false, nil)
		}
	})
}

func error540(s *session) {
	connectionError(s, 540, "NOT_IMPLEMENTED - prefetch_size!=0 (10)", func(channel *amqp.Channel) {
		_ = channel.Qos(0, 10, false)
	})
}
