// The version of Debian 12: newer functions would build elsewhere and fail there.
#define GDK_VERSION_MIN_REQUIRED GDK_VERSION_4_8
#define GDK_VERSION_MAX_ALLOWED GDK_VERSION_4_8
#include <gdk/wayland/gdkwayland.h>
#include <gdk/x11/gdkx.h>
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <libintl.h>
#include <X11/XKBlib.h>
#include <wayland-client.h>
#include <xkbcommon/xkbcommon.h>
// These macros of X11 have names of Swift.
#undef Bool
#undef True
#undef False
#undef None
#undef Status
#undef Always
