//! The console's login by OAuth 2, and what a page learns of ways to log in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue, LOCATION, SET_COOKIE};

use crate::answer::Answer;
use crate::call::Call;
use crate::cookie;
use crate::json::{Object, Writer};
use crate::oauth::{BegunLogin, OAuth, OAuthOptions, PendingLogin, own_place, with_error};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, List, Text};
use crate::route::Role::Public;
use crate::route::{AnswerFuture, Field, Operation, Parameters, Route, Shape, at};
use crate::session_renewal::{RenewedSession, keep_alive};
use crate::tags::check_management;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/auth",
        &[Operation::get(
            Public,
            ways,
            "Returns how users log in to the console.",
            Shape::Object(&[
                Field::required("oauth_enabled", Boolean, "Whether users log in with OAuth 2."),
                Field::required(
                    "oauth_disable_basic_auth",
                    Boolean,
                    "Whether logins with name and password are refused.",
                ),
                Field::optional("oauth_client_id", Text, "The client id of the broker at the provider."),
                Field::optional("oauth_provider_url", Text, "The provider's URL."),
                Field::optional("oauth_scopes", Text, "The scopes that are requested."),
                Field::optional(
                    "oauth_resource_servers",
                    List,
                    "The resource servers that users can choose, each with its `id`, its `label`, and the fields above.",
                ),
                Field::optional(
                    "oauth_initiated_logon_type",
                    Text,
                    "`sp_initiated`, or `idp_initiated`: users start their login at the provider.",
                ),
            ]),
        )],
    ),
    at(
        "/api/oauth/login",
        &[Operation::get(
            Public,
            nothing,
            "Redirects to the provider for a login with OAuth 2.",
            Shape::Page("text/html"),
        )
        .later(|call| Box::pin(login(call)) as AnswerFuture)
        .query(&[
            Parameters::Other("return_to", "The page of the console to return to: `#/` and what follows."),
            Parameters::Other("resource", "The id of the resource server to log in to. Default: the first one."),
        ])
        .refuses(&[("302", "To the provider, or to the console's login page with the reason for the failure.")])],
    ),
    at(
        "/api/oauth/callback",
        &[Operation::get(
            Public,
            nothing,
            "Receives the provider's response (`code` and `state`), opens a session, and redirects to the console.",
            Shape::Page("text/html"),
        )
        .later(|call| Box::pin(callback(call)) as AnswerFuture)
        .refuses(&[("302", "To the console, or to its login page with the reason for the failure.")])],
    ),
];

/// The cookie by which a browser is known again that has begun a login.
const COOKIE: &str = "warren_oauth";

fn nothing(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

fn ways(call: &Call) -> Result<Answer, Problem> {
    let options = &call.service.options;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("oauth_enabled").bool(!options.oauth.is_empty());
        members.cell("oauth_disable_basic_auth").bool(options.refuses_basic);
        if let Some(first) = options.oauth.first() {
            write_way(members, first);
            members.cell("oauth_resource_servers").list(&options.oauth, |oauth, server| {
                server.object(|members| {
                    members.cell("id").text(&oauth.id);
                    members.cell("label").text(&oauth.label);
                    write_way(members, oauth);
                });
            });
        }
    });
    Ok(Answer::json(out))
}

fn write_way(members: &mut Object<'_>, oauth: &OAuthOptions) {
    if !oauth.client_id.is_empty() {
        members.cell("oauth_client_id").text(&oauth.client_id);
    }
    members.cell("oauth_provider_url").text(&oauth.provider_url);
    members.cell("oauth_scopes").text(&oauth.scopes);
    let logon = if oauth.is_idp_initiated { "idp_initiated" } else { "sp_initiated" };
    members.cell("oauth_initiated_logon_type").text(logon);
}

async fn login(call: Call) -> Result<Answer, Problem> {
    let Some(first) = call.service.oauth().first() else { return Err(Problem::not_found()) };
    let oauth = match call.query.get("resource") {
        None => first.clone(),
        Some(id) => match call.service.oauth().iter().find(|oauth| oauth.options.id == id) {
            Some(oauth) => oauth.clone(),
            None => {
                let place = own_place(call.query.get("return_to").unwrap_or_default());
                return failed(&call, "unknown resource server", &place);
            }
        },
    };
    if oauth.options.is_idp_initiated {
        return redirect(&oauth.options.provider_url);
    }
    let return_to = call.query.get("return_to").unwrap_or_default();
    let redirect_uri = match redirect_uri(&call) {
        Some(redirect_uri) => redirect_uri,
        None => return failed(&call, "the request has no host", &own_place(return_to)),
    };
    match oauth.begin(return_to, redirect_uri, Instant::now()).await {
        Ok(BegunLogin { location, cookie }) => {
            let path = format!("{}/api/oauth", call.service.options.path_prefix);
            let secure = if is_secure(&call) { "; Secure" } else { "" };
            let cookie = format!("{COOKIE}={cookie}; HttpOnly; SameSite=Lax; Path={path}; Max-Age=600{secure}");
            let cookie = HeaderValue::from_str(&cookie).map_err(|_| Problem::not_found())?;
            Ok(redirect(&location)?.with(SET_COOKIE, cookie))
        }
        Err(reason) => failed(&call, &reason, &own_place(return_to)),
    }
}

async fn callback(call: Call) -> Result<Answer, Problem> {
    let Some(first) = call.service.oauth().first() else { return Err(Problem::not_found()) };
    let state = call.query.get("state").unwrap_or_default();
    let (cookie, now) = (cookie::value(&call.headers, COOKIE), Instant::now());
    // The state says which of them has begun it.
    let begun = call.service.oauth().iter().find_map(|oauth| Some((oauth.clone(), oauth.take(state, cookie, now)?)));
    let (oauth, login) = begun.map_or((first.clone(), None), |(oauth, login)| (oauth, Some(login)));
    match finished(&call, &oauth, login.as_ref()).await {
        Ok(answer) => Ok(answer),
        Err(reason) => failed(&call, &reason, login.as_ref().map_or("#/", |login| &login.return_to)),
    }
}

/// Opens a session for the user that the provider has sent back; else says why not.
async fn finished(call: &Call, oauth: &Arc<OAuth>, login: Option<&PendingLogin>) -> Result<Answer, String> {
    if let Some(error) = call.query.get("error") {
        let shown: String =
            error.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '_').take(64).collect();
        return Err(format!("the provider refused the login ({shown})"));
    }
    let code = call.query.get("code").ok_or("the provider sent no code")?;
    let login = login.ok_or("the login took too long, or was started in another browser: try again")?;
    let tokens = oauth.finish(login, code, Instant::now()).await?;
    let origin = call.actor().origin;
    let token = tokens.access_token.as_bytes();
    let actor = call.service.log_in_by_token(token, origin).await;
    let actor =
        actor.map_err(|_| "the broker does not accept the provider's token: its log contains the reason".to_owned())?;
    check_management(&actor.identity).map_err(|_| "the user may not use the console".to_owned())?;
    let (lifetime, now_ms) = (call.service.options.session_lifetime, cookie::now_ms());
    let opened = call.broker().open_login_session(&actor.identity, token, &origin, lifetime, now_ms);
    let opened = opened.map_err(|error| error.to_string())?.ok_or("the user no longer exists")?;
    // A token that is renewed does not end the session.
    let left = match &tokens.refresh_token {
        Some(_) => lifetime,
        None => Duration::from_millis(opened.expires_at_ms.saturating_sub(now_ms)),
    };
    let prefix = &call.service.options.path_prefix;
    let cookie = cookie::set(&opened.token, prefix, left, &call.headers, is_secure(call));
    if let Some(refresh_token) = tokens.refresh_token {
        let until_ms = now_ms.saturating_add(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX));
        let (token, expires_at_ms) = (opened.token, opened.expires_at_ms);
        let session = RenewedSession { token, refresh_token, origin, expires_at_ms, until_ms };
        keep_alive(&call.service, oauth, session);
    }
    let answer =
        redirect(&format!("{prefix}/{}", login.return_to)).map_err(|_| "invalid page to return to".to_owned())?;
    Ok(answer.with(SET_COOKIE, cookie))
}

fn redirect(location: &str) -> Result<Answer, Problem> {
    let location = HeaderValue::from_str(location).map_err(|_| Problem::not_found())?;
    Ok(Answer::empty(StatusCode::FOUND).with(LOCATION, location))
}

/// The console's login, with a sentence: at the place that was asked for, so that the next login leads there.
fn failed(call: &Call, reason: &str, place: &str) -> Result<Answer, Problem> {
    tracing::warn!(peer = ?call.actor().origin.peer, %reason, "OAuth 2 login failed");
    let prefix = &call.service.options.path_prefix;
    redirect(&format!("{prefix}/{}", with_error(place, reason)))
}

/// Where the provider sends the browser back to: this host, as the browser calls it. The provider compares it with the address that was
/// registered for the broker, so that no request can have codes sent elsewhere.
fn redirect_uri(call: &Call) -> Option<String> {
    let host = call.headers.get(header::HOST)?.to_str().ok().filter(|host| !host.is_empty())?;
    let scheme = if is_secure(call) { "https" } else { "http" };
    Some(format!("{scheme}://{host}{}/api/oauth/callback", call.service.options.path_prefix))
}

/// Whether the browser speaks TLS, with the broker or, by its header, with a proxy. Nothing is permitted by it.
fn is_secure(call: &Call) -> bool {
    let forwarded = |headers: &HeaderMap| headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    call.is_over_tls || forwarded(&call.headers)
}
