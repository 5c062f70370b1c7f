-- Filled by nginx.conf before any other module is loaded; see lua-settings.ts.
return {}
