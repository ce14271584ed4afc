"""Echo: guests are routers, the first of which is asked to pass echoes on while the others rest or forward."""
