import Foundation

/// A message bus for processes of all users, on which nobody is at first.
final class PrivateBus {
    /// Its socket.
    let path: String
    private let process: ChildProcess

    /// - Parameter folder: one that all users may enter.
    init(in folder: String) throws {
        path = folder + "/bus"
        let configuration = folder + "/bus.conf"
        let text = """
            <busconfig>
              <listen>unix:path=\(path)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
                <allow send_type="signal"/> <allow send_type="method_call"/> <allow eavesdrop="true"/>
              </policy>
            </busconfig>
            """
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
        process = try ChildProcess(
            "/usr/bin/dbus-daemon", ["--config-file=\(configuration)", "--nofork", "--nopidfile"])
        try Listening.wait(at: path)
    }
}
