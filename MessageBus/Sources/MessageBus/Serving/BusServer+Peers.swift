import CLinuxShims
import Glibc
public import UnixSocket

/// The other connections of the bus.
extension BusServer {
    /// The unique name of the connection that has a well-known name now; nil while none has it. Waits for the bus, at most 5 seconds.
    /// Not to be called from a handler.
    public func owner(of name: String) throws(BusError) -> String? {
        let answer = try wait(orThrow: BusError("GetNameOwner", code: ENOTCONN)) {
            (connection) -> Result<String?, BusError> in
            do throws(BusError) { return .success(try connection.owner(of: name)) } catch { return .failure(error) }
        }
        return try answer.get()
    }

    /// A pidfd of the process that made a caller's connection; nil if the caller has left, or if the bus does not know the process. Waits
    /// for the bus, at most 5 seconds. Not to be called from a handler. Without a descriptor for it, it throws (``BusError/isShortage``).
    ///
    /// The bus is asked whether the connection is still there. So for a caller that is found `peerLeft` comes later than the look, and what
    /// was kept for it before is given back.
    ///
    /// A bus that gives no pidfd itself tells only a number. So the process with this number is held first: if the connection is still of
    /// this number then, no later process has it. A process that left its connection to a child and ended is the exception: then the
    /// number may be another's. A bus that gives pidfds gives one of a process that has ended.
    public func process(of caller: BusCaller) throws(BusError) -> SharedDescriptor? {
        guard let process = try Self.held(caller) else { return nil }
        let answer = try wait(orThrow: BusError("GetConnectionCredentials", code: ENOTCONN)) {
            [name = caller.name] (connection) -> Result<BusCaller?, BusError> in
            do throws(BusError) { return .success(try connection.callerNow(named: name)) } catch {
                return .failure(error)
            }
        }
        let now = try answer.get()
        guard let now, now.processID == caller.processID, now.userID == caller.userID else { return nil }
        return process
    }

    /// The process that the bus gave with the call, or else the one that has its number now.
    private static func held(_ caller: BusCaller) throws(BusError) -> SharedDescriptor? {
        if let process = caller.process { return process }
        guard let processID = caller.processID, processID > 0 else { return nil }
        let number = ostiary_open_process(processID)
        guard number >= 0 else {
            // Every other error says that there is no such process.
            let error = BusError("pidfd_open", code: errno)
            guard error.isShortage else { return nil }
            throw error
        }
        return SharedDescriptor(Descriptor(owning: number))
    }
}
