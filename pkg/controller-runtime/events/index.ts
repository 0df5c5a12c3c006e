/** Writes Events, which `kubectl describe` shows, as client-go's event recorder does. */
export * from './events.ts';
