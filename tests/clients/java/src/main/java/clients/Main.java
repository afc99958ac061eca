package clients;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ConsumerCancelledException;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.DefaultSaslConfig;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.MessageProperties;
import com.rabbitmq.client.RpcClient;
import com.rabbitmq.client.RpcClientParams;
import com.rabbitmq.client.RpcServer;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The scenarios of tests/clients with amqp-client: one line each, "ok NAME" or "not ok NAME: why". */
public final class Main {
    private static final long PATIENCE_S = 30;
    /** Whether the client's certificate says who it is. */
    private static final boolean IS_EXTERNAL = System.getenv("WARREN_TLS_EXTERNAL") != null;
    private static int serial = 0;

    private interface Scenario {
        void run(Session session) throws Exception;
    }

    private interface Provocation {
        void on(Channel channel) throws Exception;
    }

    public static void main(String[] arguments) {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        scenarios.put("hello_world", Main::helloWorld);
        scenarios.put("work_queue", Main::workQueue);
        scenarios.put("publish_subscribe", Main::publishSubscribe);
        scenarios.put("routing", Main::routing);
        scenarios.put("topics", Main::topics);
        scenarios.put("rpc_direct_reply_to", Main::rpc);
        scenarios.put("publisher_confirms", Main::publisherConfirms);
        scenarios.put("mandatory_return_before_confirm", Main::mandatoryReturn);
        scenarios.put("body_10_mb", Main::body10Mb);
        scenarios.put("transaction", Main::transaction);
        scenarios.put("consumer_cancel_notification", Main::consumerCancelNotification);
        scenarios.put("error_403_channel", Main::error403);
        scenarios.put("error_404_channel", Main::error404);
        scenarios.put("error_404_publish", Main::error404Publish);
        scenarios.put("error_405_channel", Main::error405);
        scenarios.put("error_406_channel", Main::error406);
        scenarios.put("error_406_unknown_delivery_tag", Main::error406Tag);
        scenarios.put("error_403_login", Main::error403Login);
        scenarios.put("error_530_vhost", Main::error530Vhost);
        scenarios.put("error_530_connection", Main::error530);
        scenarios.put("error_540_connection", Main::error540);
        if (IS_EXTERNAL) {
            scenarios.remove("error_403_login"); // there is no password to be wrong
        }
        boolean isGood = true;
        for (Map.Entry<String, Scenario> each : scenarios.entrySet()) {
            try (Session session = new Session(arguments[0])) {
                each.getValue().run(session);
                System.out.println("ok " + each.getKey());
            } catch (Throwable why) {
                isGood = false;
                System.out.println("not ok " + each.getKey() + ": " + why.toString().replace('\n', ' '));
            }
        }
        System.exit(isGood ? 0 : 1);
    }

    /** What one scenario opened, and closes. */
    private static final class Session implements AutoCloseable {
        private final String uri;
        private final List<Connection> connections = new ArrayList<>();
        private final List<String> queues = new ArrayList<>();
        private final List<String> exchanges = new ArrayList<>();

        Session(String uri) {
            this.uri = uri;
        }

        ConnectionFactory factory() throws Exception {
            ConnectionFactory factory = new ConnectionFactory();
            factory.setUri(uri);
            // "amqp://host/" names the vhost "" by the letter of the URI specification.
            factory.setVirtualHost("/");
            factory.setAutomaticRecoveryEnabled(false);
            if (System.getenv("WARREN_TLS_CA") != null) {
                factory.useSslProtocol(tls());
                factory.enableHostnameVerification();
            }
            if (IS_EXTERNAL) {
                factory.setSaslConfig(DefaultSaslConfig.EXTERNAL);
            }
            return factory;
        }

        /** As the environment says: whom to trust, which certificate to show. */
        private static SSLContext tls() throws Exception {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null);
            try (InputStream authority = Files.newInputStream(Path.of(System.getenv("WARREN_TLS_CA")))) {
                trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(authority));
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            KeyStore own = KeyStore.getInstance("PKCS12");
            char[] password = "warren".toCharArray();
            own.load(null);
            if (System.getenv("WARREN_TLS_P12") != null) {
                try (InputStream identity = Files.newInputStream(Path.of(System.getenv("WARREN_TLS_P12")))) {
                    own.load(identity, password);
                }
            }
            keys.init(own, password);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
            return context;
        }

        Connection connect() throws Exception {
            Connection connection = factory().newConnection();
            connections.add(connection);
            return connection;
        }

        Channel channel() throws Exception {
            return connect().createChannel();
        }

        String name(String kind) {
            return "warren-java-" + ProcessHandle.current().pid() + "-" + ++serial + "-" + kind;
        }

        String queue(Channel channel) throws IOException {
            String queue = channel.queueDeclare(name("q"), true, false, false, null).getQueue();
            queues.add(queue);
            return queue;
        }

        String exchange(Channel channel, String kind) throws IOException {
            String exchange = name("x");
            channel.exchangeDeclare(exchange, kind);
            exchanges.add(exchange);
            return exchange;
        }

        @Override
        public void close() throws Exception {
            Channel channel = channel();
            for (String queue : queues) {
                channel.queueDelete(queue);
            }
            for (String exchange : exchanges) {
                channel.exchangeDelete(exchange);
            }
            for (Connection connection : connections) {
                connection.abort();
            }
        }
    }

    private static void check(boolean is, Object got) {
        if (!is) {
            throw new AssertionError("got " + got);
        }
    }

    private static void equal(Object expected, Object got) {
        if (!Objects.equals(expected, got)) {
            throw new AssertionError("got " + got + " instead of " + expected);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    private static String text(Delivery delivery) {
        return new String(delivery.getBody(), UTF_8);
    }

    private static BlockingQueue<Delivery> consume(Channel channel, String queue, boolean autoAck) throws IOException {
        BlockingQueue<Delivery> deliveries = new LinkedBlockingQueue<>();
        channel.basicConsume(queue, autoAck, (tag, delivery) -> deliveries.add(delivery), tag -> {});
        return deliveries;
    }

    private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
        T got = queue.poll(PATIENCE_S, TimeUnit.SECONDS);
        check(got != null, "nothing in time");
        return got;
    }

    private static List<String> drain(Channel channel, String queue) throws IOException {
        List<String> bodies = new ArrayList<>();
        for (GetResponse got; (got = channel.basicGet(queue, true)) != null; ) {
            bodies.add(new String(got.getBody(), UTF_8));
        }
        return bodies;
    }

    private static void helloWorld(Session s) throws Exception {
        Channel channel = s.channel();
        String queue = s.queue(channel);
        channel.basicPublish("", queue, MessageProperties.TEXT_PLAIN, bytes("Hello World!"));
        Delivery got = next(consume(channel, queue, true));
        equal("Hello World!", text(got));
        equal("text/plain", got.getProperties().getContentType());
        equal(queue, got.getEnvelope().getRoutingKey());
    }

    private static void workQueue(Session s) throws Exception {
        Channel setup = s.channel();
        String queue = s.queue(setup);
        List<Channel> channels = List.of(s.channel(), s.channel());
        List<BlockingQueue<Delivery>> workers = new ArrayList<>();
        for (Channel channel : channels) {
            channel.basicQos(1);
            workers.add(consume(channel, queue, false));
        }
        for (int task = 0; task < 6; task++) {
            setup.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, bytes("" + task));
        }
        // The second worker keeps its task; the first gets all others, one after each ack.
        Delivery kept = next(workers.get(1));
        Set<String> seen = new HashSet<>(Set.of(text(kept)));
        for (int task = 0; task < 5; task++) {
            Delivery delivery = next(workers.get(0));
            seen.add(text(delivery));
            channels.get(0).basicAck(delivery.getEnvelope().getDeliveryTag(), false);
        }
        equal(6, seen.size());
        channels.get(1).basicAck(kept.getEnvelope().getDeliveryTag(), false);
    }

    private static void publishSubscribe(Session s) throws Exception {
        Channel channel = s.channel();
        String exchange = s.exchange(channel, "fanout");
        List<String> queues = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            queues.add(s.queue(channel));
            channel.queueBind(queues.get(i), exchange, "");
        }
        channel.basicPublish(exchange, "whatever", null, bytes("news"));
        for (String queue : queues) {
            equal(List.of("news"), drain(channel, queue));
        }
    }

    private static void routing(Session s) throws Exception {
        Channel channel = s.channel();
        String exchange = s.exchange(channel, "direct");
        String errors = s.queue(channel);
        String all = s.queue(channel);
        channel.queueBind(errors, exchange, "error");
        for (String severity : List.of("info", "warning", "error")) {
            channel.queueBind(all, exchange, severity);
            channel.basicPublish(exchange, severity, null, bytes(severity));
        }
        channel.basicPublish(exchange, "debug", null, bytes("debug"));
        equal(List.of("error"), drain(channel, errors));
        equal(List.of("info", "warning", "error"), drain(channel, all));
    }

    private static void topics(Session s) throws Exception {
        Channel channel = s.channel();
        String exchange = s.exchange(channel, "topic");
        String orange = s.queue(channel);
        String lazy = s.queue(channel);
        channel.queueBind(orange, exchange, "*.orange.*");
        channel.queueBind(lazy, exchange, "lazy.#");
        for (String key : List.of("quick.orange.rabbit", "lazy.orange.elephant", "lazy", "quick.brown.fox", "lazy.a.b.c")) {
            channel.basicPublish(exchange, key, null, bytes(key));
        }
        equal(List.of("quick.orange.rabbit", "lazy.orange.elephant"), drain(channel, orange));
        equal(List.of("lazy.orange.elephant", "lazy", "lazy.a.b.c"), drain(channel, lazy));
    }

    private static void rpc(Session s) throws Exception {
        Channel served = s.channel();
        String queue = s.queue(served);
        RpcServer server = new RpcServer(served, queue) {
            @Override
            public byte[] handleCall(byte[] request, AMQP.BasicProperties replyProperties) {
                return bytes("" + 2 * Integer.parseInt(new String(request, UTF_8)));
            }
        };
        Thread thread = new Thread(() -> {
            try {
                server.mainloop();
            } catch (IOException | ShutdownSignalException | ConsumerCancelledException ended) {
                // The scenario is over.
            }
        });
        thread.setDaemon(true);
        thread.start();
        // The library's own RPC client uses direct reply-to unless told otherwise.
        RpcClient client = new RpcClient(new RpcClientParams().channel(s.channel()).exchange("").routingKey(queue).timeout((int) PATIENCE_S * 1000));
        for (int number = 0; number < 10; number++) {
            equal("" + 2 * number, client.stringCall("" + number));
        }
        client.close();
    }

    private static void publisherConfirms(Session s) throws Exception {
        Channel channel = s.channel();
        String queue = s.queue(channel);
        channel.confirmSelect();
        for (int i = 0; i < 200; i++) {
            channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, bytes("" + i));
        }
        channel.waitForConfirmsOrDie(PATIENCE_S * 1000);
        equal(200L, channel.messageCount(queue));
    }

    private static void mandatoryReturn(Session s) throws Exception {
        Channel channel = s.channel();
        channel.confirmSelect();
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        channel.addReturnListener(back -> events.add(back.getReplyCode() + " " + back.getReplyText() + " " + new String(back.getBody(), UTF_8)));
        channel.addConfirmListener((tag, multiple) -> events.add("ack " + tag), (tag, multiple) -> events.add("nack " + tag));
        channel.basicPublish("", s.name("nowhere"), true, null, bytes("back"));
        equal("312 NO_ROUTE back", next(events));
        equal("ack 1", next(events));
    }

    private static void body10Mb(Session s) throws Exception {
        Channel channel = s.channel();
        String queue = s.queue(channel);
        byte[] body = new byte[10 << 20];
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) (i % 251);
        }
        channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, body);
        Delivery got = next(consume(channel, queue, false));
        check(Arrays.equals(body, got.getBody()), got.getBody().length + " bytes");
        channel.basicAck(got.getEnvelope().getDeliveryTag(), false);
    }

    private static void transaction(Session s) throws Exception {
        Channel channel = s.channel();
        Channel other = s.channel();
        String queue = s.queue(other);
        channel.txSelect();
        channel.basicPublish("", queue, null, bytes("rolled back"));
        channel.txRollback();
        channel.basicPublish("", queue, null, bytes("committed"));
        equal(List.of(), drain(other, queue));
        channel.txCommit();
        equal("committed", text(next(consume(other, queue, true))));
    }

    private static void consumerCancelNotification(Session s) throws Exception {
        Channel channel = s.channel();
        String queue = s.queue(channel);
        BlockingQueue<String> cancelled = new ArrayBlockingQueue<>(1);
        channel.basicConsume(queue, false, "mine", new DefaultConsumer(channel) {
            @Override
            public void handleCancel(String tag) {
                cancelled.add(tag);
            }

            @Override
            public void handleDelivery(String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body) {}
        });
        s.channel().queueDelete(queue);
        equal("mine", next(cancelled));
        s.queue(channel);
    }

    /** The provocation must end its channel with that code and text; the connection must live on. */
    private static void channelError(Session s, int code, String text, Provocation provoke) throws Exception {
        Connection connection = s.connect();
        Channel channel = connection.createChannel();
        CompletableFuture<ShutdownSignalException> ended = new CompletableFuture<>();
        channel.addShutdownListener(ended::complete);
        try {
            provoke.on(channel);
        } catch (IOException | ShutdownSignalException expected) {
            // The reason is checked below.
        }
        ShutdownSignalException why = ended.get(PATIENCE_S, TimeUnit.SECONDS);
        check(!why.isHardError() && why.getReason() instanceof AMQP.Channel.Close, why);
        AMQP.Channel.Close close = (AMQP.Channel.Close) why.getReason();
        equal(code + " " + text, close.getReplyCode() + " " + close.getReplyText());
        check(connection.isOpen(), "a closed connection");
        connection.createChannel().queueDeclare();
    }

    /** The provocation must end its whole connection with that code and text. */
    private static void connectionError(Session s, int code, String text, Provocation provoke) throws Exception {
        Connection connection = s.connect();
        CompletableFuture<ShutdownSignalException> ended = new CompletableFuture<>();
        connection.addShutdownListener(ended::complete);
        try {
            provoke.on(connection.createChannel());
        } catch (IOException | ShutdownSignalException expected) {
            // The reason is checked below.
        }
        ShutdownSignalException why = ended.get(PATIENCE_S, TimeUnit.SECONDS);
        check(why.isHardError() && why.getReason() instanceof AMQP.Connection.Close, why);
        AMQP.Connection.Close close = (AMQP.Connection.Close) why.getReason();
        equal(code + " " + text, close.getReplyCode() + " " + close.getReplyText());
        check(!connection.isOpen(), "an open connection");
    }

    private static void error403(Session s) throws Exception {
        channelError(s, 403, "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'", channel -> channel.queueDeclare("amq.mine", true, false, false, null));
        channelError(s, 403, "ACCESS_REFUSED - operation not permitted on the default exchange", channel -> channel.exchangeDelete(""));
    }

    private static void error404(Session s) throws Exception {
        String missing = s.name("missing");
        channelError(s, 404, "NOT_FOUND - no queue '" + missing + "' in vhost '/'", channel -> channel.queueDeclarePassive(missing));
    }

    private static void error404Publish(Session s) throws Exception {
        String missing = s.name("missing");
        channelError(s, 404, "NOT_FOUND - no exchange '" + missing + "' in vhost '/'", channel -> channel.basicPublish(missing, "", null, bytes("lost")));
    }

    private static void error405(Session s) throws Exception {
        String queue = s.name("q");
        s.channel().queueDeclare(queue, false, true, false, null);
        String text = "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '" + queue + "' in vhost '/'. It could be originally declared on another "
            + "connection or the exclusive property value does not match that of the original declaration.";
        channelError(s, 405, text, channel -> channel.basicConsume(queue, new DefaultConsumer(channel)));
    }

    private static void error406(Session s) throws Exception {
        String queue = s.queue(s.channel());
        String text = "PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue '" + queue + "' in vhost '/': received 'true' but current is 'false'";
        channelError(s, 406, text, channel -> channel.queueDeclare(queue, true, false, true, null));
    }

    private static void error406Tag(Session s) throws Exception {
        channelError(s, 406, "PRECONDITION_FAILED - unknown delivery tag 99", channel -> channel.basicAck(99, false));
    }

    private static void error403Login(Session s) throws Exception {
        ConnectionFactory factory = s.factory();
        factory.setPassword("wrong");
        try {
            factory.newConnection().abort();
        } catch (AuthenticationFailureException refused) {
            equal("ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile.", refused.getMessage());
            return;
        }
        throw new AssertionError("a wrong password was taken");
    }

    private static void error530Vhost(Session s) throws Exception {
        ConnectionFactory factory = s.factory();
        factory.setVirtualHost("no-such-vhost");
        try {
            factory.newConnection().abort();
        } catch (IOException refused) {
            check(("" + refused.getCause()).contains("vhost no-such-vhost not found"), refused.getCause());
            return;
        }
        throw new AssertionError("an unknown vhost was opened");
    }

    private static void error530(Session s) throws Exception {
        connectionError(s, 530, "NOT_ALLOWED - attempt to reuse consumer tag 'mine'", channel -> {
            String queue = s.queue(channel);
            for (int i = 0; i < 2; i++) {
                channel.basicConsume(queue, false, "mine", new DefaultConsumer(channel));
            }
        });
    }

    private static void error540(Session s) throws Exception {
        connectionError(s, 540, "NOT_IMPLEMENTED - prefetch_size!=0 (10)", channel -> channel.basicQos(10, 0, false));
    }
}
