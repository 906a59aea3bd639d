/** Version of the console, from package.json. */
declare const __VERSION__: string;
