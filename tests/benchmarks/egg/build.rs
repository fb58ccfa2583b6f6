//! Tells the program which version of egg it is built with: that of Cargo.lock, which Cargo has settled by now.

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("\nname = \"egg\"\n"))
        .and_then(|package| package.split("version = \"").nth(1))
        .and_then(|rest| rest.split('"').next())
        .expect("a package egg in Cargo.lock");
    println!("cargo:rustc-env=EGG_VERSION={version}");
}
