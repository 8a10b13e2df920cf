import CSystemd

/// Listens to what udev announces of USB devices, through libsystemd's sd-device. One thread uses it at a time.
///
/// The kernel filters: other announcements do not wake the thread. libsystemd drops those that root did not send. Nothing of an
/// announcement is kept. Where no udev runs, as in most containers, libsystemd listens to nothing and says no error.
final class DeviceMonitor {
    private let loop: OpaquePointer
    private let monitor: OpaquePointer
    /// Whether a device came or went since the wait began. The monitor's callback writes it, on the thread that waits.
    private let hasPlug: UnsafeMutablePointer<Bool>

    /// Begins to listen: what is announced from now on is not lost.
    init() throws(DeviceEventError) {
        var madeLoop: OpaquePointer?
        var madeMonitor: OpaquePointer?
        try DeviceEventError.check(sd_event_new(&madeLoop), "sd_event_new")
        let result = sd_device_monitor_new(&madeMonitor)
        guard let loop = madeLoop, let monitor = madeMonitor else {
            sd_event_unref(madeLoop)
            throw DeviceEventError("sd_device_monitor_new", code: -result)
        }
        (self.loop, self.monitor) = (loop, monitor)
        hasPlug = UnsafeMutablePointer<Bool>.allocate(capacity: 1)
        hasPlug.initialize(to: false)
        try DeviceEventError.check(sd_device_monitor_attach_event(monitor, loop), "sd_device_monitor_attach_event")
        try DeviceEventError.check(
            sd_device_monitor_filter_add_match_subsystem_devtype(monitor, "usb", "usb_device"),
            "sd_device_monitor_filter_add_match_subsystem_devtype")
        // It never fails: sd-device would not call it again.
        let code = sd_device_monitor_start(
            monitor,
            { _, device, hasPlug in
                var action = SD_DEVICE_CHANGE
                guard sd_device_get_action(device, &action) >= 0 else { return 0 }
                if action == SD_DEVICE_ADD || action == SD_DEVICE_REMOVE {
                    hasPlug?.assumingMemoryBound(to: Bool.self).pointee = true
                }
                return 0
            }, hasPlug)
        try DeviceEventError.check(code, "sd_device_monitor_start")
    }

    deinit {
        sd_device_monitor_unref(monitor)
        sd_event_unref(loop)
        hasPlug.deallocate()
    }

    /// Waits until a device came or went, and then until `rest` passed without another announcement.
    ///
    /// - Parameter longest: ends the second wait even if announcements go on.
    func waitForPlugs(rest: Duration, longest: Duration) throws(DeviceEventError) {
        hasPlug.pointee = false
        while !hasPlug.pointee { _ = try dispatchOne(within: UInt64.max) }
        let end = ContinuousClock.now.advanced(by: longest)
        let microseconds = UInt64(rest / .microseconds(1))
        while ContinuousClock.now < end, try dispatchOne(within: microseconds) {}
    }

    /// Waits for one announcement; false when none came in this time (`UInt64.max` is for ever).
    private func dispatchOne(within microseconds: UInt64) throws(DeviceEventError) -> Bool {
        try DeviceEventError.check(sd_event_run(loop, microseconds), "sd_event_run") > 0
    }
}
