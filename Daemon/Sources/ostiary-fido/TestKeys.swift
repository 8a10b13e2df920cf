#if OSTIARY_TEST_OPTIONS
    import CLinuxShims
    import Glibc
    import KeyDevices
    import SecurityKeyProtocol
    import UnixSocket

    /// For tests, on machines without hidraw devices: `ostiary-fido FOLDER`. A named key is the socket of its name in the folder, and the
    /// file `NAME.descriptor` has its report descriptor. No program that is installed takes the argument.
    struct TestKeys {
        private let folder: String

        static var ofArguments: TestKeys? {
            CommandLine.arguments.count == 2 ? TestKeys(folder: CommandLine.arguments[1]) : nil
        }

        private func path(_ opening: KeyOpening) -> String { "\(folder)/\(opening.name.text)" }

        func open(_ opening: KeyOpening) throws(SystemCallError) -> Descriptor {
            let path = path(opening)
            // A connection has no owner and no access list: those of the socket's file count.
            guard DeviceAccess(path).allows(opening.userID) else {
                throw SystemCallError("open", subject: path, code: KeyOpeningAnswer.forbiddenToUser)
            }
            let type = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
            let connection = try Descriptor(socket(AF_UNIX, type, 0), from: "socket")
            guard ostiary_connect(connection.number, path) == 0 else { throw SystemCallError("connect", subject: path) }
            return connection
        }

        func reportDescriptor(of opening: KeyOpening) throws(SystemCallError) -> Descriptor {
            let path = path(opening) + ".descriptor"
            return try Descriptor(Glibc.open(path, O_RDONLY | O_CLOEXEC), from: "open", subject: path)
        }
    }
#endif
