//! Backups over HTTP.

use super::house::in_house;

#[test]
fn a_backup_says_where_it_is_and_how_large() {
    in_house(async |house| {
        let reply = house.ask("POST", "/api/warren/backup", "guest", r#"{"path":"/copy"}"#).await;
        let answer = reply.json();
        assert_eq!((reply.status, &answer["path"]), (200, &"/copy".into()), "{answer}");
        assert!(answer["size"].as_u64().unwrap() >= answer["linked_size"].as_u64().unwrap(), "{answer}");
        let again = house.ask("POST", "/api/warren/backup", "guest", r#"{"path":"/copy"}"#).await;
        assert_eq!((again.status, &again.json()["error"]), (400, &"bad_request".into()));
    });
}

#[test]
fn backups_are_for_administrators_and_need_a_path() {
    in_house(async |house| {
        assert_eq!(house.ask("POST", "/api/warren/backup", "mona", r#"{"path":"/copy"}"#).await.status, 401);
        house.check_refused("POST /api/warren/backup", "{}", 400, "bad_request", "'path' is missing").await;
        let reason = "'path' must be a string, not 1";
        house.check_refused("POST /api/warren/backup", r#"{"path":1}"#, 400, "bad_request", reason).await;
        let relative = house.ask("POST", "/api/warren/backup", "guest", r#"{"path":"copy"}"#).await;
        assert_eq!(relative.status, 400);
    });
}
