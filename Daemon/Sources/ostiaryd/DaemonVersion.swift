/// The version of the programs in this package.
enum DaemonVersion {
    static let text = "0.1.0"
}
