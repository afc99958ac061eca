//! How connections come to be, or not.

use amqp::{ReplyCode, connection};
use amqp_client::{ConnectOptions, Credentials, OpenError};

use crate::scripted::{TUNE, play};

#[test]
fn name_and_password_are_sent_as_plain() {
    play(
        ConnectOptions::default(),
        async |connection| drop(connection.unwrap()),
        async |mut peer| {
            let (response, _) = peer.open(TUNE).await;
            assert_eq!(response, b"\0guest\0guest");
        },
    );
}

#[test]
fn credentials_of_the_options_go_before_the_uri() {
    let credentials = Credentials { user: String::new(), password: "token".to_owned() };
    play(
        ConnectOptions { credentials: Some(credentials), ..ConnectOptions::default() },
        async |connection| drop(connection.unwrap()),
        async |mut peer| assert_eq!(peer.open(TUNE).await.0, b"\0\0token"),
    );
}

#[test]
fn server_tells_who_it_is() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let connection = connection.unwrap();
            let server = connection.server().unwrap();
            assert_eq!((server.product.as_str(), server.version.as_str()), ("Scripted", "7"));
        },
        async |mut peer| drop(peer.open(TUNE).await),
    );
}

#[track_caller]
fn check_agreed(options: ConnectOptions, offered: (u16, u32, u16), agreed: (u16, u32, u16)) {
    let (channel_max, frame_max, heartbeat) = offered;
    play(
        options,
        async |connection| drop(connection.unwrap()),
        async |mut peer| {
            let (_, tune_ok) = peer.open(connection::Tune { channel_max, frame_max, heartbeat }).await;
            assert_eq!((tune_ok.channel_max, tune_ok.frame_max, tune_ok.heartbeat), agreed);
        },
    );
}

#[test]
fn the_lesser_limit_is_agreed_on_and_zero_is_none() {
    check_agreed(ConnectOptions::default(), (2047, 131_072, 60), (2047, 131_072, 60));
    check_agreed(ConnectOptions::default(), (0, 0, 0), (u16::MAX, 131_072, 0));
    let wishes = ConnectOptions { channel_max: 10, frame_max: 9000, heartbeat: 5, ..ConnectOptions::default() };
    check_agreed(wishes.clone(), (2047, 131_072, 60), (10, 9000, 5));
    check_agreed(wishes, (5, 4096, 0), (5, 4096, 5));
    check_agreed(
        ConnectOptions { is_without_heartbeat: true, ..ConnectOptions::default() },
        (1, 4096, 60),
        (1, 4096, 0),
    );
}

#[test]
fn refused_login_says_whose() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let error = connection.map(drop).unwrap_err();
            assert!(matches!(error, OpenError::LoginRefused { .. }), "{error:?}");
            assert!(error.to_string().ends_with("refuses the login of user 'guest': ACCESS_REFUSED - no"), "{error}");
            assert!(!error.is_passing());
        },
        async |mut peer| {
            peer.start().await;
            peer.frame().await;
            let text = ReplyCode::AccessRefused.text("no");
            peer.send(0, &connection::Close { reply_code: 403, reply_text: &text, ..Default::default() }).await;
            peer.expect(0, connection::CloseOk).await;
        },
    );
}

#[test]
fn broker_of_another_protocol_is_named() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let error = connection.map(drop).unwrap_err();
            assert!(error.to_string().ends_with("does not speak AMQP 0-9-1: it asks for protocol 3.1.0.0"), "{error}");
        },
        async |mut peer| {
            peer.expect_header().await;
            peer.send_bytes(b"AMQP\x03\x01\x00\x00").await;
        },
    );
}

#[test]
fn something_that_is_no_broker_is_refused() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let error = connection.map(drop).unwrap_err();
            assert!(matches!(error, OpenError::NotAmqp { .. }), "{error:?}");
        },
        async |mut peer| {
            peer.expect_header().await;
            peer.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        },
    );
}

#[test]
fn broker_that_hangs_up_may_be_tried_again() {
    play(
        ConnectOptions::default(),
        async |connection| {
            let error = connection.map(drop).unwrap_err();
            assert!(matches!(error, OpenError::Lost { .. }), "{error:?}");
            assert!(error.is_passing());
        },
        async |mut peer| peer.start().await,
    );
}
