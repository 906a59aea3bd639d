//! Commands in a sandbox: permitted and prevented actions.

#[cfg(target_os = "linux")]
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod ordinary;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod table;
#[cfg(test)]
mod trial;
