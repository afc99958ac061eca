//! The console's files, as `make web` has made them of `web/console`: built into the binary, compressed there already.
//!
//! Addresses have the [`VERSION`] in them, so that a browser keeps the files for good and never mixes those of two builds.
//!
//! Deliberately absent: HTTP, which `management` speaks; and anything that the console shows, which is the HTTP API's.

/// A file.
#[derive(Debug)]
pub struct Asset {
    /// What the header `content-type` says.
    pub content_type: &'static str,
    /// What the header `etag` says, in its quotation marks.
    pub etag: &'static str,
    /// The file as it is.
    pub plain: &'static [u8],
    /// The same, compressed by gzip.
    pub gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What draws everything, with what others have written for it.
const SCRIPT: &str = "console/main.js";

/// The file at a path, such as `console/main.js` or `console/style/base.css`.
#[must_use]
pub fn asset(path: &str) -> Option<&'static Asset> {
    let index = ASSETS.binary_search_by(|(own, _)| (*own).cmp(path)).ok()?;
    ASSETS.get(index).map(|(_, asset)| asset)
}

/// Whether this build has what the console needs. Without npm, or without `make web`, it has not.
#[must_use]
pub fn is_whole() -> bool {
    asset(SCRIPT).is_some()
}

/// The page, for a broker whose page is at `base`, a path that ends with `/` and is safe in an attribute of HTML. `None` if this build is
/// not whole.
#[must_use]
pub fn page(base: &str) -> Option<String> {
    let page = asset("console/page.html").filter(|_| is_whole())?;
    let text = String::from_utf8_lossy(page.plain);
    Some(text.replace("{assets}", &format!("{base}static/{VERSION}/")).replace("{base}", base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_paths() {
        let style = asset("console/style/base.css").unwrap();
        assert_eq!(style.content_type, "text/css; charset=utf-8");
        assert!(style.gzip.len() < style.plain.len() && style.gzip.starts_with(&[0x1f, 0x8b]));
        assert!(asset("console/nothing.js").is_none() && asset("../Cargo.toml").is_none());
    }

    #[test]
    fn the_page_names_files_that_are_there() {
        let Some(page) = page("/rabbit/") else { return assert!(!is_whole()) };
        assert!(!page.contains('{'), "{page}");
        let assets = format!("\"/rabbit/static/{VERSION}/");
        let named: Vec<&str> = page.split(&assets).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(named.len() > 3 && named.contains(&SCRIPT));
        for path in named {
            assert!(asset(path).is_some(), "{path}");
        }
    }

    /// What a browser has to fetch in all, whatever is looked at.
    #[test]
    fn scripts_stay_small() {
        let len: usize =
            ASSETS.iter().filter(|(path, _)| path.ends_with(".js")).map(|(_, asset)| asset.gzip.len()).sum();
        assert!(len < 150 << 10, "{len} bytes of scripts");
    }
}
