// amqp091-go through restarts: tests/blackbox/languages.py says what it does. The library has no list of hosts: the loop goes through them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	dialTimeout = 5 * time.Second
	retry       = 100 * time.Millisecond
	pace        = 5 * time.Millisecond
	window      = 20
)

var (
	isEnding atomic.Bool
	speaking sync.Mutex
)

type event map[string]any

// say writes in one piece: two goroutines speak.
func say(what event) {
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	speaking.Lock()
	defer speaking.Unlock()
	fmt.Println(string(line))
}

// keepOn has it work on one channel after another, until it fails no more.
func keepOn(role string, hosts []string, queue string, work func(*amqp.Channel, string) error) {
	for attempt := 0; ; attempt++ {
		err := once(role, hosts[attempt%len(hosts)], queue, work)
		if err == nil {
			return
		}
		say(event{"lost": err.Error()})
		time.Sleep(retry)
	}
}

func once(role, host, queue string, work func(*amqp.Channel, string) error) error {
	connection, err := amqp.DialConfig("amqp://guest:guest@"+host+"/", amqp.Config{Dial: amqp.DefaultDial(dialTimeout)})
	if err != nil {
		return err
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	if _, err := channel.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		return err
	}
	say(event{"opened": role})
	return work(channel, queue)
}

// publisher is what is published, over all connections.
type publisher struct {
	next int
	// unconfirmed is in the order in which it was published last.
	unconfirmed []int
}

func (p *publisher) work(channel *amqp.Channel, queue string) error {
	if err := channel.Confirm(false); err != nil {
		return err
	}
	again := slices.Clone(p.unconfirmed)
	var waiting []*amqp.DeferredConfirmation
	for {
		var number int
		switch {
		case len(again) > 0:
			number, again = again[0], again[1:]
		case len(waiting) > 0 && (isEnding.Load() || len(waiting) == window):
			if !waiting[0].Wait() {
				return errors.New("not confirmed")
			}
			say(event{"confirmed": p.unconfirmed[0]})
			waiting, p.unconfirmed = waiting[1:], p.unconfirmed[1:]
			continue
		case isEnding.Load():
			return nil
		default:
			time.Sleep(pace)
			number = p.next
			p.next++
			p.unconfirmed = append(p.unconfirmed, number)
		}
		say(event{"published": number})
		message := amqp.Publishing{Body: strconv.AppendInt(nil, int64(number), 10), DeliveryMode: amqp.Persistent}
		confirmation, err := channel.PublishWithDeferredConfirm("", queue, true, false, message)
		if err != nil {
			return err
		}
		waiting = append(waiting, confirmation)
	}
}

func consume(channel *amqp.Channel, queue string) error {
	if err := channel.Qos(window, 0, false); err != nil {
		return err
	}
	deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	for delivery := range deliveries {
		number, err := strconv.Atoi(string(delivery.Body))
		if err != nil {
			return err
		}
		say(event{"delivered": number, "redelivered": delivery.Redelivered})
		if err := delivery.Ack(false); err != nil {
			return err
		}
	}
	return errors.New("the consumer ended")
}

func main() {
	queue, hosts := os.Args[1], os.Args[2:]
	go keepOn("publisher", hosts, queue, (&publisher{}).work)
	go keepOn("consumer", hosts, queue, consume)
	_, _ = io.Copy(io.Discard, os.Stdin)
	isEnding.Store(true)
	select {}
}
