//! How a configuration is read: which source overrides which.

use super::remark::{ConfigError, Warning};
use super::settings::{self, Config};
use super::sources::Source;
use super::values::Values;
use super::{environment, schema};

impl Config {
    /// Reads a configuration. `sources` are in the order in which they count: the main file, then those of `conf.d` by
    /// name. `env` may be the whole environment. `sets` are the arguments of `--set`, each `KEY=VALUE`.
    pub fn parse(
        sources: &[Source],
        env: &[(String, String)],
        sets: &[String],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let mut values = Values::new(&schema::TABLE);
        environment::assign_defaults(&mut values, env);
        for source in sources {
            values.add_source(source, env);
        }
        environment::assign_above(&mut values, env);
        for set in sets {
            values.add_set(set);
        }
        environment::assign_cookie(&mut values, env);
        values.complete();
        let (mut config, mut warnings) = settings::build(values)?;
        config.files = sources.iter().map(|source| source.name.clone()).collect();
        warnings.extend(environment::without_effect(env));
        Ok((config, warnings))
    }

    /// Every key that is in force, with its value, by name; passwords are hidden.
    #[must_use]
    pub fn effective(&self) -> Vec<(String, String)> {
        self.values.effective()
    }
}

impl Default for Config {
    fn default() -> Config {
        let (config, _) = Config::parse(&[], &[], &[]).expect("the defaults fit together");
        config
    }
}
