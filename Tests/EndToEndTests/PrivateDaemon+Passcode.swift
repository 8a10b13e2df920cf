import DaemonTestSupport
import Testing

extension PrivateDaemon {
    /// Sets the first passcode, as a person does.
    func setPasscode(_ passcode: String) throws {
        let set = try PlayedTerminal(
            BuiltProgram.ofThisPackage("ostiary"), ["passcode", "set"], answers: [passcode, passcode], in: self)
        try #require(set.status == 0, "\(set.screen)")
    }
}
