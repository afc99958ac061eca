package clients;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.MessageProperties;
import com.rabbitmq.client.Recoverable;
import com.rabbitmq.client.RecoveryListener;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * amqp-client through restarts: tests/blackbox/languages.py says what it does. The library connects again by itself (automatic recovery), with its
 * channels and consumers; what was not confirmed is the publisher's business.
 */
public final class Reconnecting {
    private static final int RETRY_MS = 100;
    private static final int PACE_MS = 5;
    private static final int WINDOW = 20;

    public static void main(String[] arguments) throws Exception {
        String queue = arguments[0];
        List<Address> hosts = Arrays.stream(arguments).skip(1).map(Address::parseAddress).toList();
        ConnectionFactory factory = new ConnectionFactory();
        factory.setNetworkRecoveryInterval(RETRY_MS);
        consume(factory.newConnection(hosts), queue);
        Publisher publisher = new Publisher(factory.newConnection(hosts), queue);
        Thread publishing = new Thread(publisher::run);
        publishing.setDaemon(true);
        publishing.start();
        while (System.in.read() != -1) {
            // Its end is what matters.
        }
        publisher.end();
        Thread.currentThread().join();
    }

    private static void say(String format, Object... values) {
        System.out.println(String.format(format, values));
    }

    /** A channel of it, over all restarts, of which those two are told. */
    private static Channel open(Connection connection, String role, String queue, Runnable lost, Runnable recovered) throws IOException {
        connection.addShutdownListener(why -> say("{\"lost\": \"%s\"}", why.getClass().getSimpleName()));
        Channel channel = connection.createChannel();
        channel.queueDeclare(queue, true, false, false, Map.of("x-queue-type", "quorum"));
        channel.addShutdownListener(why -> lost.run());
        ((Recoverable) channel).addRecoveryListener(new RecoveryListener() {
            @Override
            public void handleRecovery(Recoverable channel) {
                say("{\"opened\": \"%s\"}", role);
                recovered.run();
            }

            @Override
            public void handleRecoveryStarted(Recoverable channel) {}
        });
        say("{\"opened\": \"%s\"}", role);
        return channel;
    }

    private static void consume(Connection connection, String queue) throws IOException {
        Channel channel = open(connection, "consumer", queue, () -> {}, () -> {});
        channel.basicQos(WINDOW);
        channel.basicConsume(queue, false, (tag, message) -> {
            say("{\"delivered\": %s, \"redelivered\": %s}", new String(message.getBody(), UTF_8), message.getEnvelope().isRedeliver());
            try {
                channel.basicAck(message.getEnvelope().getDeliveryTag(), false);
            } catch (AlreadyClosedException gone) {
                // It comes again.
            }
        }, tag -> say("{\"lost\": \"the consumer was cancelled\"}"));
    }

    /** What is published, over all connections. All is under its lock, for listeners run in other threads. */
    private static final class Publisher {
        private final Channel channel;
        private final String queue;
        /** Numbers by the sequence numbers of the channel as it is now. */
        private final SortedMap<Long, Integer> unconfirmed = new TreeMap<>();
        private final Queue<Integer> again = new ArrayDeque<>();
        private int next = 0;
        private boolean isOpen = true;
        private boolean isEnding = false;

        Publisher(Connection connection, String queue) throws IOException {
            this.queue = queue;
            channel = open(connection, "publisher", queue, this::lose, this::recover);
            channel.confirmSelect();
            channel.addConfirmListener(this::confirm, (tag, isMultiple) -> say("{\"lost\": \"a nack\"}"));
        }

        synchronized void end() {
            isEnding = true;
        }

        private synchronized void lose() {
            isOpen = false;
        }

        private synchronized void recover() {
            // Sequence numbers begin anew.
            again.addAll(unconfirmed.values());
            unconfirmed.clear();
            isOpen = true;
        }

        private synchronized void confirm(long tag, boolean isMultiple) {
            SortedMap<Long, Integer> confirmed = isMultiple ? unconfirmed.headMap(tag + 1) : unconfirmed.subMap(tag, tag + 1);
            confirmed.values().forEach(number -> say("{\"confirmed\": %d}", number));
            confirmed.clear();
        }

        void run() {
            try {
                while (true) {
                    Thread.sleep(PACE_MS);
                    step();
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        private synchronized void step() {
            if (!isOpen || again.isEmpty() && (isEnding || unconfirmed.size() >= WINDOW)) {
                return;
            }
            int number = again.isEmpty() ? next++ : again.remove();
            unconfirmed.put(channel.getNextPublishSeqNo(), number);
            say("{\"published\": %d}", number);
            try {
                channel.basicPublish("", queue, true, MessageProperties.PERSISTENT_BASIC, Integer.toString(number).getBytes(UTF_8));
            } catch (IOException | AlreadyClosedException lost) {
                // It is published again when the channel is back; the listener may not know yet.
                isOpen = false;
            }
        }
    }
}
