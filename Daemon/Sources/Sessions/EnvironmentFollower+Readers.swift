import DeviceEvents
import FingerprintReader
import Logging
import Owners
import Synchronization
import Threading

extension EnvironmentFollower {
    /// Has watches answered from now on when a fingerprint reader is plugged in or out. Returns at once.
    ///
    /// fprintd announces neither, and ends when nobody uses it. So udev's announcements of USB devices are a reason to ask fprintd
    /// again; nothing in them is believed. Nobody is asked while nobody watches. A machine that does not let the daemon listen is
    /// logged once; a reader is then noticed when somebody asks for the state.
    package func followReaders() {
        owners.whenOpened { [weak self] account in
            if account.biometry != nil { self?.startFollowingReaders() }
        }
    }

    /// Begins with the first owner whose fingers can be known.
    private func startFollowingReaders() {
        let watcher = PlugWatcher(rest: ReaderChange.rest, longest: ReaderChange.longest) { [weak self] in
            self?.readersMayHaveChanged()
        } failed: { [log] in
            log.notice("plugged readers are noticed no longer", metadata: ["cause": "\($0)"])
        }
        let isFirst = plugs.withLock { plugs in
            defer { plugs = plugs ?? watcher }
            return plugs == nil
        }
        guard isFirst else { return }
        do throws(DeviceEventError) { try watcher.start() } catch {
            log.notice("plugged readers are not noticed", metadata: ["cause": "\(error)"])
        }
    }

    /// Follows readers no longer.
    package func stop() { plugs.withLock { $0 }?.stop() }

    private func readersMayHaveChanged() {
        let accounts = owners.open
        // The others have no thread that would look.
        let watched = accounts.filter { !watches.all(of: $0).isEmpty }
        for account in accounts { mayHaveChanged(of: account, askingSensor: true) }
        // Devices that come and go while fprintd answers lead to one more question, not to one each.
        for account in watched { account.looks.finish() }
    }
}
